#include "lanista/inference/model_assessment.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/rng.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/data/spec.h"

namespace lanista::inference {
namespace {

using study::PartAssessment;

constexpr std::size_t kRowsPerBatch = 1024;

/// A model with the rows that it predicts, in its own form of the data.
struct PredictionRequest {
  Predictor* predictor;
  const data::Dataset* data;
  std::span<const std::int64_t> rows;
};

using OnPredictions = std::function<void(std::span<const std::int64_t> rows, std::span<const double> predictions)>;

/// Predicts some rows at a time. `report` receives row numbers and predictions [rows, outputs].
void predict_rows(std::span<const PredictionRequest> all, const OnPredictions& report) {
  for (const PredictionRequest& requested : all) {
    const auto width = static_cast<std::size_t>(requested.data->spec().features.elements_per_sample());
    std::vector<float> features;
    for (std::size_t at = 0; at < requested.rows.size(); at += kRowsPerBatch) {
      const auto some = requested.rows.subspan(at, std::min(kRowsPerBatch, requested.rows.size() - at));
      features.resize(some.size() * width);
      requested.data->gather_features(some, features);
      report(some, requested.predictor->predict(features));
    }
  }
}

/// Counts of class labels and predictions.
class ClassCounts {
 public:
  explicit ClassCounts(std::size_t classes) : rows_(classes), predicted_(classes), right_(classes) {}

  void add(std::span<const std::int32_t> labels, std::span<const double> logits) {
    const std::size_t classes = rows_.size();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto row = logits.subspan(i * classes, classes);
      if (std::any_of(row.begin(), row.end(), [](double x) { return std::isnan(x); })) {
        ++num_nan_;
        continue;
      }
      const auto label = static_cast<std::size_t>(labels[i]);
      const auto largest = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
      ++rows_[label];
      ++predicted_[largest];
      if (label == largest) {
        ++right_[label];
      } else {
        ++mistakes_[{label, largest}];
      }
    }
  }

  void report(PartAssessment& out) const {
    out.lost = num_nan_;
    out.classes = scores();
    const auto classes = static_cast<std::int64_t>(rows_.size());
    if (classes <= PartAssessment::kMaxConfusionClasses) {
      out.confusion.resize(rows_.size() * rows_.size());
      for (std::size_t k = 0; k < rows_.size(); ++k) out.confusion[k * rows_.size() + k] = right_[k];
    }
    for (const auto& [pair, rows] : mistakes_) {
      if (!out.confusion.empty()) out.confusion[pair.first * rows_.size() + pair.second] = rows;
      out.confused.push_back({static_cast<std::int64_t>(pair.first), static_cast<std::int64_t>(pair.second), rows});
    }
    std::stable_sort(out.confused.begin(), out.confused.end(),
                     [](const auto& a, const auto& b) { return a.rows > b.rows; });
    if (out.confused.size() > PartAssessment::kMaxConfusedPairs) out.confused.resize(PartAssessment::kMaxConfusedPairs);
  }

 private:
  std::vector<study::ClassScore> scores() const {
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    std::vector<study::ClassScore> out;
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      if (rows_[k] == 0) continue;
      out.push_back(
          {static_cast<std::int64_t>(k), rows_[k], share(right_[k], predicted_[k]), share(right_[k], rows_[k])});
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
      return a.recall != b.recall ? a.recall < b.recall : a.rows > b.rows;
    });
    if (out.size() > PartAssessment::kMaxClasses) out.resize(PartAssessment::kMaxClasses);
    return out;
  }

  std::vector<std::int64_t> rows_, predicted_, right_;                    // by class
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> mistakes_;  // by label and prediction
  std::int64_t num_nan_ = 0;
};

/// Rounds to the digits of a chart, so that a report has no more of single rows than it needs.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

/// At most `most` of the rows, ascending; a function of its arguments.
std::vector<std::uint32_t> sampled_rows(std::size_t rows, std::size_t most) {
  Rng rng = Rng(1).split("assessment");
  auto out = rng.sample_without_replacement(static_cast<std::uint32_t>(rows),
                                            static_cast<std::uint32_t>(std::min(rows, most)));
  std::sort(out.begin(), out.end());
  return out;
}

/// Reports some outputs: columns of targets and predictions, [rows, shown], both less `origin`.
void report_numbers(std::span<const float> targets, std::span<const double> predictions, std::size_t shown,
                    const std::vector<double>& origin, PartAssessment& out) {
  const std::size_t rows = targets.size() / shown;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = predictions.subspan(i * shown, shown);
    out.lost += std::any_of(row.begin(), row.end(), [](double x) { return std::isnan(x); }) ? 1 : 0;
  }
  out.residuals = residuals_of(predictions, targets, static_cast<std::int64_t>(shown));
  for (const std::size_t i : sampled_rows(rows, PartAssessment::kMaxPoints / shown)) {
    for (std::size_t k = 0; k < shown; ++k) {
      const double from = origin.empty() ? 0 : origin[k];
      out.actual.push_back(from + rounded(static_cast<double>(targets[i * shown + k])));
      out.predicted.push_back(from + rounded(predictions[i * shown + k]));
    }
  }
}

PartAssessment assess_classes(const data::Dataset& data, std::span<const PredictionRequest> all) {
  ClassCounts counts(static_cast<std::size_t>(data.spec().classes));
  std::vector<std::int32_t> labels;
  predict_rows(all, [&](std::span<const std::int64_t> some, std::span<const double> logits) {
    labels.resize(some.size() * static_cast<std::size_t>(data.spec().labels_per_sample()));
    data.gather_labels(some, labels);
    counts.add(labels, logits);
  });
  PartAssessment out;
  counts.report(out);
  return out;
}

PartAssessment assess_numbers(const data::Dataset& data, std::span<const PredictionRequest> all) {
  const auto outputs = static_cast<std::size_t>(data.spec().target_size);
  const std::size_t shown = std::min(outputs, PartAssessment::kMaxOutputs);
  std::vector<float> of_some, targets;
  std::vector<double> predictions;
  predict_rows(all, [&](std::span<const std::int64_t> some, std::span<const double> predicted) {
    of_some.resize(some.size() * outputs);
    data.gather_raw_targets(some, of_some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      for (std::size_t k = i * outputs; k < i * outputs + shown; ++k) {
        targets.push_back(of_some[k]);
        predictions.push_back(predicted[k]);
      }
    }
  });
  PartAssessment out;
  report_numbers(targets, predictions, shown, data.spec().target_origin, out);
  return out;
}

/// Assessment of labels. A label is predicted if its logit is above 0.
PartAssessment assess_labels(const data::Dataset& data, std::span<const PredictionRequest> all) {
  const auto labels = static_cast<std::size_t>(data.spec().target_size);
  std::vector<std::int64_t> counts(4 * labels);  // [label, truth, prediction]
  std::vector<float> truth;
  PartAssessment out;
  predict_rows(all, [&](std::span<const std::int64_t> some, std::span<const double> logits) {
    truth.resize(some.size() * labels);
    data.gather_raw_targets(some, truth);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto row = logits.subspan(i * labels, labels);
      if (std::any_of(row.begin(), row.end(), [](double x) { return std::isnan(x); })) {
        ++out.lost;
        continue;
      }
      for (std::size_t k = 0; k < labels; ++k) {
        ++counts[4 * k + (truth[i * labels + k] != 0 ? 2U : 0U) + (row[k] > 0 ? 1U : 0U)];
      }
    }
  });
  out.classes = label_scores(counts);
  std::stable_sort(out.classes.begin(), out.classes.end(),
                   [](const auto& a, const auto& b) { return a.f1() != b.f1() ? a.f1() < b.f1() : a.rows > b.rows; });
  if (out.classes.size() > PartAssessment::kMaxClasses) out.classes.resize(PartAssessment::kMaxClasses);
  return out;
}

PartAssessment assess_part(const data::Dataset& data, std::span<const PredictionRequest> requested) {
  switch (data.spec().targets().kind) {
    case autodiff::TargetKind::kClasses:
      return assess_classes(data, requested);
    case autodiff::TargetKind::kMultilabel:
      return assess_labels(data, requested);
    case autodiff::TargetKind::kNumbers:
      break;
  }
  return assess_numbers(data, requested);
}

Result<const data::Dataset*> training_of(const data::Dataset& all, const std::optional<std::int64_t>& fold) {
  if (!fold || (*fold >= 0 && *fold < std::ssize(all.spec().folds))) return &all.training(fold);
  return Error{Code::kInvalidArgument,
               "the package is of fold " + std::to_string(*fold) + ", which these data do not have", all.spec().source};
}

/// The models of a package with the rows that each predicts. With folds, each training predicts its own validation
/// rows. On the test part all predict raw rows together, because each has its own normalisation.
class AssessmentRequests {
 public:
  /// `data` has the form of the package's data and outlives this.
  static Result<AssessmentRequests> of(const engine::ModelPackage& package, const data::Dataset& data) {
    AssessmentRequests out;
    out.data_ = &data;
    LANISTA_ASSIGN(out.package_predictor_, Predictor::create(package));
    if (!package.members.front().own_preprocessing) return out;
    for (std::size_t k = 0; k < package.members.size(); ++k) {
      const auto fold = package.facts.at("members").at(k).at("fold").get<std::int64_t>();
      LANISTA_ASSIGN(const data::Dataset* own, training_of(data, fold));
      engine::ModelPackage single{{package.members[k]}, own->spec(), package.loss, package.metrics, {}};
      single.members.front().own_preprocessing.reset();
      single.members.front().share = 1;
      LANISTA_ASSIGN(auto predictor, Predictor::create(single));
      out.trainings_.emplace_back(std::move(predictor), own);
    }
    return out;
  }

  std::vector<PredictionRequest> requests_for(data::Part part) {
    if (trainings_.empty()) return {{&*package_predictor_, data_, data_->rows(part)}};
    if (part == data::Part::kTest) return {{&*package_predictor_, data_->fold_union(), data_->rows(part)}};
    std::vector<PredictionRequest> out;
    for (auto& [predictor, own] : trainings_) out.push_back({&predictor, own, own->rows(part)});
    return out;
  }

 private:
  const data::Dataset* data_ = nullptr;
  std::optional<Predictor> package_predictor_;
  std::vector<std::pair<Predictor, const data::Dataset*>> trainings_;
};

Result<void> check_same_data(const engine::ModelPackage& package, const data::DataSpec& spec) {
  if (spec.hash == package.data.hash && spec.classes == package.data.classes &&
      spec.target_size == package.data.target_size &&
      spec.folds.empty() != package.members.front().own_preprocessing.has_value()) {
    return {};
  }
  return Error{Code::kInvalidArgument,
               "the package belongs to other data: its hash is " + package.data.hash.hex() + "; these data have hash " +
                   spec.hash.hex(),
               spec.source};
}

}  // namespace

std::string identity_of(const engine::ModelPackage& package) {
  if (package.members.size() == 1) return package.facts.value("weights_hash", "");
  Hasher hasher;
  const std::vector<double> shares = package.shares();
  for (std::size_t k = 0; k < shares.size(); ++k) {
    hasher.text(package.facts.at("members").at(k).value("weights_hash", ""))
        .number(std::bit_cast<std::int64_t>(shares[k]));
  }
  return hasher.finish().hex();
}

Result<study::ModelAssessment> assess_model(const engine::ModelPackage& package, const data::Dataset& all,
                                            bool tested) {
  std::optional<std::int64_t> fold;
  if (package.facts.contains("fold")) fold = package.facts["fold"].get<std::int64_t>();
  LANISTA_ASSIGN(const data::Dataset* data, training_of(all, fold));
  const data::DataSpec& spec = data->spec();
  LANISTA_TRY(check_same_data(package, spec));
  LANISTA_ASSIGN(auto requests, AssessmentRequests::of(package, *data));
  study::ModelAssessment out;
  // The first member of an ensemble is the winner.
  const nlohmann::json& first = package.members.size() == 1 ? package.facts : package.facts.at("members").at(0);
  out.trial = TrialId{first.at("trial").get<std::uint32_t>()};
  out.weights_hash = identity_of(package);
  out.classes = spec.classes;
  out.outputs = spec.classes > 0 ? 1 : spec.target_size;
  out.multilabel = spec.multilabel;
  std::vector<std::pair<std::string, data::Part>> parts{{"validation", data::Part::kValidation}};
  if (tested) parts.emplace_back("test", data::Part::kTest);
  for (const auto& [name, part] : parts) {
    const std::vector<PredictionRequest> requested = requests.requests_for(part);
    std::size_t rows = 0;
    for (const PredictionRequest& each : requested) rows += each.rows.size();
    if (rows == 0) continue;
    out.parts.push_back(assess_part(*data, requested));
    out.parts.back().part = name;
    out.parts.back().rows = static_cast<std::int64_t>(rows) * spec.labels_per_sample();
  }
  return out;
}

}  // namespace lanista::inference
