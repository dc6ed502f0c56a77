#include "lanista/exec/train/baseline.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/train/evaluation.h"

namespace lanista::train {
namespace {

using data::Part;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kMaxWork = 2e9;
constexpr double kMaxPredictions = 1e8;  // numbers of predictions
constexpr double kRidge = 1e-3;
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

/// A linear model: features times weights plus offset. Without weights it is the offset.
struct LinearModel {
  MatrixXd weights;  ///< [features, outputs], or empty
  VectorXd offset;   ///< [outputs]

  MatrixXd predict(const MatrixXd& features, Index rows) const {
    MatrixXd out = offset.transpose().replicate(rows, 1);
    if (weights.size() > 0) out.noalias() += features * weights;
    return out;
  }
};

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

/// Returns the scale with the least value of a convex function. `derivatives` gives the first and the second one.
template <class Derivatives>
double newton_scale(const Derivatives& derivatives) {
  constexpr int kMaxNewtonSteps = 50;
  double scale = 1;
  for (int step = 0; step < kMaxNewtonSteps; ++step) {
    const auto [slope, curve] = derivatives(scale);
    if (!(curve > 0)) break;
    const double moved = std::clamp(scale - slope / curve, scale / 4, scale * 4);
    const bool settled = std::fabs(moved - scale) < 1e-9 * scale;
    scale = moved;
    if (settled) break;
  }
  return scale;
}

/// Returns the scale of scores with the least mean softmax cross-entropy.
double best_scale(const MatrixXd& scores, const std::vector<std::int32_t>& labels) {
  return newton_scale([&](double scale) {
    double slope = 0, curve = 0;
    for (Index r = 0; r < scores.rows(); ++r) {
      const VectorXd row = scores.row(r).transpose();
      const Eigen::ArrayXd weights = ((row.array() - row.maxCoeff()) * scale).exp();
      const double all = weights.sum(), mean = (weights * row.array()).sum() / all;
      slope += mean - row(labels[static_cast<std::size_t>(r)]);
      curve += (weights * (row.array() - mean).square()).sum() / all;
    }
    return std::pair(slope, curve);
  });
}

/// Returns the scale for label targets, with scores around 0.
double best_scale(const MatrixXd& scores, const MatrixXd& truth) {
  return newton_scale([&](double scale) {
    const Eigen::ArrayXXd p = (1 + (-scale * scores.array()).exp()).inverse();
    const double slope = ((p - truth.array()) * scores.array()).sum();
    const double curve = (p * (1 - p) * scores.array().square()).sum();
    return std::pair(slope, curve);
  });
}

std::vector<std::int64_t> every_kth(const std::vector<std::int64_t>& rows, double most) {
  const auto k = static_cast<std::size_t>(std::max(1.0, std::ceil(static_cast<double>(rows.size()) / most)));
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < rows.size(); i += k) out.push_back(rows[i]);
  return out;
}

/// Returns the fitted model; nothing if the baseline is left out.
std::optional<LinearModel> linear_model(const data::Dataset& set) {
  const data::DataSpec& spec = set.spec();
  const std::int64_t width = spec.features.elements_per_sample();
  if (spec.vocab > 0 || width > kMaxFeatures) return std::nullopt;
  const double of_a_row = static_cast<double>(width) * static_cast<double>(width + spec.outputs());
  const auto rows = every_kth(set.rows(Part::kTrain), kMaxWork / of_a_row);
  const bool thinned = rows.size() < set.rows(Part::kTrain).size();
  if (thinned && static_cast<std::int64_t>(rows.size()) < 2 * width) return std::nullopt;

  const Rows train = gather(set, rows, true);
  const MatrixXd to = target_matrix(train, spec.outputs());
  const VectorXd center = train.features.colwise().mean().transpose();
  const MatrixXd centered = train.features.rowwise() - center.transpose();
  MatrixXd gram = MatrixXd::Zero(width, width);
  gram.selfadjointView<Eigen::Lower>().rankUpdate(centered.transpose());
  const double ridge = kRidge * gram.trace() / static_cast<double>(width);
  // If no feature varies, the ridge is 1 instead of 0.
  gram.diagonal().array() += ridge > 0 ? ridge : 1.0;
  LinearModel model;
  model.weights = gram.selfadjointView<Eigen::Lower>().llt().solve(centered.transpose() * to);
  model.offset = to.colwise().mean().transpose() - model.weights.transpose() * center;
  if (spec.multilabel) {
    // Least squares of zeros and ones: above a half a label is likely.
    model.offset.array() -= 0.5;
    const double scale = best_scale(model.predict(train.features, train.features.rows()), to);
    model.weights *= scale;
    model.offset *= scale;
  }
  if (spec.classes > 0) {
    const double scale = best_scale(model.predict(train.features, train.features.rows()), train.labels);
    model.weights *= scale;
    model.offset *= scale;
  }
  return model;
}

void measure(const LinearModel& model, const data::Dataset& set, Part part, const std::string& prefix,
             const Evaluation& evaluation, study::Baseline& baseline) {
  const std::int64_t outputs = set.spec().outputs(), answers = set.spec().labels_per_sample();
  program::HostMetrics host(evaluation.requested(), set.spec().width(), kernels::best_isa());
  program::MetricSums sums;
  const std::span<const std::int64_t> all = set.rows(part);
  const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, kMaxNumbersInMemory / outputs));
  for (std::size_t at = 0; at < all.size(); at += at_once) {
    const auto some = all.subspan(at, std::min(at_once, all.size() - at));
    const Rows rows = gather(set, some, model.weights.size() > 0);
    const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> predictions =
        model.predict(rows.features, static_cast<Index>(some.size()) * answers);
    host.add({predictions.data(), static_cast<std::size_t>(predictions.size())}, rows.labels, rows.targets, sums);
  }
  baseline.metrics.merge(evaluation.values(sums, prefix));
}

}  // namespace

namespace {

constexpr std::ptrdiff_t kMaxBaselineFolds = 10;

std::vector<study::Baseline> baselines_of_split(const data::Dataset& set, const std::string& loss,
                                                const std::vector<std::string>& metrics,
                                                std::span<const study::Metric> own) {
  std::vector<study::Baseline> out;
  const std::int64_t outputs = set.spec().outputs();
  const double measured = static_cast<double>(set.rows(Part::kValidation).size() + set.rows(Part::kTest).size());
  if (measured * static_cast<double>(outputs) > kMaxPredictions) return out;
  const Evaluation evaluation(loss, metrics, set.spec().width(), own, target_scaling_of(set.spec()));
  const auto add = [&](std::string name, const LinearModel& model) {
    study::Baseline& baseline = out.emplace_back(study::Baseline{std::move(name), {}});
    measure(model, set, Part::kValidation, "val_", evaluation, baseline);
    if (!set.rows(Part::kTest).empty()) measure(model, set, Part::kTest, "test_", evaluation, baseline);
  };
  add("constant", constant_model(set));
  if (const auto linear = linear_model(set)) add("linear", *linear);
  return out;
}

}  // namespace

std::vector<study::Baseline> baselines(const data::Dataset& set, const std::string& loss,
                                       const std::vector<std::string>& metrics, std::span<const study::Metric> own) {
  const std::int64_t folds = std::min(kMaxBaselineFolds, std::ssize(set.spec().folds));
  if (folds == 0) return baselines_of_split(set, loss, metrics, own);
  std::vector<study::Baseline> mean;
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    const auto measured = baselines_of_split(set.training(fold), loss, metrics, own);
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
