#include "lanista/exec/train/baseline.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/train/baseline_linear.h"
#include "lanista/exec/train/baseline_trees.h"
#include "lanista/exec/train/evaluation.h"

namespace lanista::train {
namespace {

using data::Part;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Operations to fit a baseline to all folds.
constexpr double kMaxLinearWork = 2e9, kMaxTreesWork = 1e8;
constexpr double kMaxPredictions = 1e8;  // numbers of predictions
constexpr double kFewestIterations = 30;
constexpr std::int64_t kMostIterations = 200;
constexpr std::int64_t kFewestRounds = 20, kMostRounds = 100;
constexpr double kMostShrinkage = 0.3;
constexpr std::int64_t kMaxNumbersInMemory = std::int64_t{1} << 18;

/// Rows of a data set with their targets.
struct Rows {
  MatrixXd features;                 ///< [rows, features]
  std::vector<std::int32_t> labels;  ///< targets for classes
  std::vector<float> targets;        ///< targets for numbers and labels, [rows, target_size], in their original unit
};

Rows gather(const data::Dataset& set, std::span<const std::int64_t> rows, bool make_batch) {
  Rows out;
  const std::size_t width = static_cast<std::size_t>(set.spec().features.elements_per_sample());
  if (make_batch) {
    std::vector<float> features(rows.size() * width);
    set.gather_features(rows, features);
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    out.features =
        Eigen::Map<const RowMajor>(features.data(), static_cast<Index>(rows.size()), static_cast<Index>(width))
            .cast<double>();
  }
  if (set.spec().classes > 0) {
    out.labels.resize(rows.size() * static_cast<std::size_t>(set.spec().labels_per_sample()));
    set.gather_labels(rows, out.labels);
  } else {
    out.targets.resize(rows.size() * static_cast<std::size_t>(set.spec().target_size));
    set.gather_raw_targets(rows, out.targets);
  }
  return out;
}

/// Returns the targets as numbers: zeros and ones for classes.
MatrixXd target_matrix(const Rows& rows, std::int64_t outputs) {
  const auto count =
      rows.labels.empty() ? static_cast<Index>(rows.targets.size()) / outputs : static_cast<Index>(rows.labels.size());
  MatrixXd out = MatrixXd::Zero(count, outputs);
  for (Index r = 0; r < count; ++r) {
    if (!rows.labels.empty()) {
      out(r, rows.labels[static_cast<std::size_t>(r)]) = 1;
      continue;
    }
    for (Index k = 0; k < outputs; ++k) out(r, k) = double{rows.targets[static_cast<std::size_t>(r * outputs + k)]};
  }
  return out;
}

/// What features are divided by, so that a penalty on weights suits them: normalised features keep their scale.
VectorXd column_scale(const MatrixXd& features, const data::DataSpec& spec) {
  VectorXd out = VectorXd::Ones(features.cols());
  if (spec.normalization != data::Normalization{}) return out;
  for (Index f = 0; f < features.cols(); ++f) {
    const double mean = features.col(f).mean();
    const double variance = (features.col(f).array() - mean).square().mean();
    if (variance > 0) out[f] = std::sqrt(variance);
  }
  return out;
}

/// Replaces means of targets that are equal in all rows by their value, which a sum of shares misses by its rounding.
void settle_equal_targets(const std::vector<float>& targets, VectorXd& means) {
  const auto outputs = static_cast<std::size_t>(means.size());
  for (std::size_t k = 0; k < outputs && k < targets.size(); ++k) {
    bool equal = true;
    for (std::size_t i = k; i < targets.size(); i += outputs) equal &= targets[i] == targets[k];
    if (equal) means(static_cast<Index>(k)) = double{targets[k]};
  }
}

LinearModel constant_model(const data::Dataset& set) {
  const auto& all = set.rows(Part::kTrain);
  const Rows train = gather(set, all, false);
  const auto rows = static_cast<double>(all.size()) * static_cast<double>(set.spec().labels_per_sample());
  LinearModel model{.weights = {}, .offset = VectorXd::Zero(set.spec().width())};
  for (const std::int32_t label : train.labels) model.offset(label) += 1 / rows;
  for (std::size_t i = 0; i < train.targets.size(); ++i) {
    model.offset(static_cast<Index>(i) % model.offset.size()) += double{train.targets[i]} / rows;
  }
  if (set.spec().multilabel) {
    const double least = 0.5 / rows;
    for (double& share : model.offset) {
      const double p = std::clamp(share, least, 1 - least);
      share = std::log(p / (1 - p));
    }
    return model;
  }
  if (set.spec().classes == 0) {
    if (set.spec().rules > study::kFirstRules) settle_equal_targets(train.targets, model.offset);
    return model;
  }
  // A class without training rows counts as half a row, instead of minus infinity.
  for (double& share : model.offset) share = std::log(std::max(share, 0.5 / rows));
  return model;
}

std::vector<std::int64_t> every_kth(const std::vector<std::int64_t>& rows, double most) {
  const auto k = static_cast<std::size_t>(std::max(1.0, std::ceil(static_cast<double>(rows.size()) / most)));
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < rows.size(); i += k) out.push_back(rows[i]);
  return out;
}

/// The rows to fit a baseline to, every k-th if a row needs too much work. Empty if two rows a feature are too many.
std::vector<std::int64_t> affordable_rows(const data::Dataset& set, double work, double of_a_row) {
  const auto& all = set.rows(Part::kTrain);
  auto rows = every_kth(all, work / of_a_row);
  if (rows.size() < all.size() && std::ssize(rows) < 2 * set.spec().features.elements_per_sample()) rows.clear();
  return rows;
}

/// Returns the fitted linear model; nothing if it is left out.
std::optional<LinearModel> linear_model(const data::Dataset& set, double folds) {
  const data::DataSpec& spec = set.spec();
  const std::int64_t width = spec.features.elements_per_sample();
  if (spec.vocab > 0 || width > kMaxFeatures) return std::nullopt;
  const double work = kMaxLinearWork / folds, size = static_cast<double>(width);
  const auto outputs = static_cast<double>(spec.outputs());
  if (spec.targets().kind == autodiff::TargetKind::kNumbers) {
    const auto rows = affordable_rows(set, work, size * (size + outputs));
    if (rows.empty()) return std::nullopt;
    const Rows train = gather(set, rows, true);
    return ridge_model(train.features, target_matrix(train, spec.outputs()));
  }
  const double of_an_iteration = 4 * size * outputs;
  const auto rows = affordable_rows(set, work, kFewestIterations * of_an_iteration);
  if (rows.empty()) return std::nullopt;
  Rows train = gather(set, rows, true);
  const double iterations = work / (of_an_iteration * static_cast<double>(rows.size()));
  const VectorXd scale = column_scale(train.features, spec);
  train.features.array().rowwise() /= scale.transpose().array();
  LinearModel model =
      logistic_model(train.features, target_matrix(train, spec.outputs()), spec.multilabel,
                     static_cast<std::int64_t>(std::min(iterations, static_cast<double>(kMostIterations))));
  model.weights.array().colwise() /= scale.array();
  return model;
}

/// Returns boosted trees; nothing if they are left out.
std::optional<BoostedTrees> trees_model(const data::Dataset& set, double folds) {
  const data::DataSpec& spec = set.spec();
  const std::int64_t width = spec.features.elements_per_sample();
  if (spec.vocab > 0 || spec.features.rank() != 1 || width > kMaxFeatures) return std::nullopt;
  const std::int64_t fitted = spec.classes == 2 ? 1 : spec.outputs();
  const double work = kMaxTreesWork / folds;
  const double of_a_round = static_cast<double>(kBoostedDepth * width * fitted);
  const auto rows = affordable_rows(set, work, kFewestRounds * of_a_round);
  if (rows.empty()) return std::nullopt;
  const Rows train = gather(set, rows, true);
  const double rounds = work / (of_a_round * static_cast<double>(rows.size()));
  const auto whole = std::clamp(static_cast<std::int64_t>(rounds), kFewestRounds, kMostRounds);
  const auto kind = spec.targets().kind;
  const BoostedTask task = kind == autodiff::TargetKind::kNumbers   ? BoostedTask::kNumbers
                           : kind == autodiff::TargetKind::kClasses ? BoostedTask::kClasses
                                                                    : BoostedTask::kLabels;
  const double shrinkage = std::min(kMostShrinkage, 10 / static_cast<double>(whole));
  return boosted_trees(train.features, target_matrix(train, spec.outputs()), task, whole, shrinkage);
}

/// Measures predictions, which `predict` computes from features [rows, features] and the number of rows.
template <class Predict>
void measure(const Predict& predict, bool takes_features, const data::Dataset& set, Part part,
             const std::string& prefix, const Evaluation& evaluation, study::Baseline& baseline) {
  const std::int64_t outputs = set.spec().outputs(), answers = set.spec().labels_per_sample();
  program::HostMetrics host(evaluation.requested(), set.spec().width(), kernels::best_isa());
  program::MetricSums sums;
  const std::span<const std::int64_t> all = set.rows(part);
  const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, kMaxNumbersInMemory / outputs));
  for (std::size_t at = 0; at < all.size(); at += at_once) {
    const auto some = all.subspan(at, std::min(at_once, all.size() - at));
    const Rows rows = gather(set, some, takes_features);
    const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> predictions =
        predict(rows.features, static_cast<Index>(some.size()) * answers);
    host.add({predictions.data(), static_cast<std::size_t>(predictions.size())}, rows.labels, rows.targets, sums);
  }
  baseline.metrics.merge(evaluation.values(sums, prefix));
}

}  // namespace

namespace {

constexpr std::ptrdiff_t kMaxBaselineFolds = 10;

std::vector<study::Baseline> baselines_of_split(const data::Dataset& set, const std::string& loss,
                                                const std::vector<std::string>& metrics,
                                                std::span<const study::Metric> own, double folds) {
  std::vector<study::Baseline> out;
  const std::int64_t outputs = set.spec().outputs();
  const double measured = static_cast<double>(set.rows(Part::kValidation).size() + set.rows(Part::kTest).size());
  if (measured * static_cast<double>(outputs) > kMaxPredictions) return out;
  const Evaluation evaluation(loss, metrics, set.spec().width(), own, target_scaling_of(set.spec()));
  const auto add = [&](std::string name, bool takes_features, const auto& predict) {
    study::Baseline& baseline = out.emplace_back(study::Baseline{std::move(name), {}});
    measure(predict, takes_features, set, Part::kValidation, "val_", evaluation, baseline);
    if (set.rows(Part::kTest).empty()) return;
    measure(predict, takes_features, set, Part::kTest, "test_", evaluation, baseline);
  };
  const LinearModel constant = constant_model(set);
  add("constant", false, [&](const MatrixXd& features, Index rows) { return constant.predict(features, rows); });
  if (const auto linear = linear_model(set, folds)) {
    add("linear", true, [&](const MatrixXd& features, Index rows) { return linear->predict(features, rows); });
  }
  if (const auto trees = trees_model(set, folds)) {
    add("trees", true, [&](const MatrixXd& features, Index) { return trees->predict(features); });
  }
  return out;
}

}  // namespace

std::vector<study::Baseline> baselines(const data::Dataset& set, const std::string& loss,
                                       const std::vector<std::string>& metrics, std::span<const study::Metric> own) {
  const std::int64_t folds = std::min(kMaxBaselineFolds, std::ssize(set.spec().folds));
  if (folds == 0) return baselines_of_split(set, loss, metrics, own, 1);
  std::vector<study::Baseline> mean;
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    const auto measured = baselines_of_split(set.training(fold), loss, metrics, own, static_cast<double>(folds));
    if (fold == 0) {
      mean = measured;
      for (auto& baseline : mean) {
        for (auto& [name, value] : baseline.metrics) value = 0;
      }
    }
    if (measured.size() < mean.size()) mean.resize(measured.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      for (auto& [name, value] : mean[i].metrics) value += measured[i].metrics.at(name) / static_cast<double>(folds);
    }
  }
  return mean;
}

}  // namespace lanista::train
