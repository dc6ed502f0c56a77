#include "lanista/exec/program/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanista/base/check.h"
#include "lanista/exec/program/score_metrics.h"

namespace lanista::program {
namespace {

using Of = SampleSum::Of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool any_nan(std::span<const double> row) {
  return std::any_of(row.begin(), row.end(), [](double x) { return std::isnan(x); });
}

// Whether the label's logit is among the k largest. A tie counts for the lower class index, as in a stable sort.
bool within_top(std::span<const double> row, std::int64_t label, std::int64_t k) {
  const double own = row[static_cast<std::size_t>(label)];
  std::int64_t better = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return false;
    if (row[i] > own || (row[i] == own && static_cast<std::int64_t>(i) < label)) ++better;
  }
  return better < k;
}

double of_class(const SampleSum& sum, std::span<const double> row, std::int32_t label) {
  switch (sum.of) {
    case Of::kTop:
      return within_top(row, label, static_cast<std::int64_t>(sum.number)) ? 1.0 : 0.0;
    case Of::kLogLoss:
      return any_nan(row) ? kNan : -Softmax(row).log_of(row[static_cast<std::size_t>(label)]);
    default:
      LANISTA_CHECK(false, "a metric of numbers is requested for classes");
      return kNan;
  }
}

// Adds a row to the bin (b / 15, (b + 1) / 15] of its largest probability.
void add_calibration(std::span<const double> row, bool right, std::vector<CalibrationBin>& bins) {
  const double probability = Softmax(row).largest_probability();
  const double place = std::ceil(probability * static_cast<double>(kCalibrationBins)) - 1;
  // Infinite logits give no probability; then the sum is NaN.
  const double last = static_cast<double>(kCalibrationBins - 1);
  CalibrationBin& bin = bins[std::isnan(place) ? 0 : static_cast<std::size_t>(std::clamp(place, 0.0, last))];
  ++bin.rows;
  bin.right += right ? 1 : 0;
  bin.probability += probability;
}

/// `lacking` is what the target lacks in its own unit.
double of_number(const SampleSum& sum, double prediction, double target, double lacking) {
  switch (sum.of) {
    case Of::kAbsoluteError:
      return std::fabs(prediction - target);
    case Of::kRelativeError:
      return std::fabs(target - prediction) /
             std::max(std::fabs(target + lacking), std::numeric_limits<double>::epsilon());
    case Of::kPinball: {
      const double error = target - prediction;
      return error >= 0 ? sum.number * error : (sum.number - 1) * error;
    }
    default:
      LANISTA_CHECK(false, "a metric of classes is requested for numbers");
      return kNan;
  }
}

bool is_right(double logit, float target) { return !std::isnan(logit) && (logit > 0) == (target != 0); }

double of_labels(const SampleSum& sum, std::span<const double> logits, std::span<const float> targets) {
  double right = 0, loss = 0;
  for (std::size_t j = 0; j < logits.size(); ++j) {
    right += is_right(logits[j], targets[j]) ? 1 : 0;
    loss += label_loss(logits[j], targets[j] != 0);
  }
  const auto width = static_cast<double>(logits.size());
  switch (sum.of) {
    case Of::kRightLabels:
      return right / width;
    case Of::kAllLabels:
      return right == width ? 1 : 0;
    case Of::kLabelLoss:
      return loss / width;
    default:
      LANISTA_CHECK(false, "a metric of classes or numbers is requested for labels");
      return kNan;
  }
}

/// Adds one sample to a column; `samples` includes it.
void add_column(double prediction, double target, std::int64_t samples, ErrorColumn& column) {
  const double error = target - prediction, away = target - column.target_mean;
  column.squared_errors += error * error;
  column.target_mean += away / static_cast<double>(samples);
  column.target_squares += away * (target - column.target_mean);
}

}  // namespace

void TargetScaling::to_original(std::span<double> predictions) const {
  if (mean.empty()) return;
  for (std::size_t i = 0; i < predictions.size(); i += mean.size()) {
    for (std::size_t j = 0; j < mean.size(); ++j) predictions[i + j] = predictions[i + j] * scale[j] + mean[j];
  }
}

void TargetScaling::to_standardised(std::span<double> numbers) const {
  if (mean.empty()) return;
  for (std::size_t i = 0; i < numbers.size(); i += mean.size()) {
    for (std::size_t j = 0; j < mean.size(); ++j) numbers[i + j] = (numbers[i + j] - mean[j]) / scale[j];
  }
}

void add_classes(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                 std::span<const std::int32_t> labels, std::span<const double> losses, MetricSums& sums) {
  const auto classes = static_cast<std::size_t>(width);
  sums.of.resize(requested.sums.size());
  if (requested.confusion) sums.confusion.resize(classes * classes);
  if (requested.calibration) sums.bins.resize(kCalibrationBins);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    sums.loss += losses[i];
    const auto row = logits.subspan(i * classes, classes);
    for (std::size_t m = 0; m < requested.sums.size(); ++m) sums.of[m] += of_class(requested.sums[m], row, labels[i]);
    if (any_nan(row)) {
      ++sums.num_nan;
      continue;
    }
    if (!requested.confusion && !requested.calibration) continue;
    const auto largest = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    const auto label = static_cast<std::size_t>(labels[i]);
    if (requested.confusion) ++sums.confusion[label * classes + largest];
    if (requested.calibration) add_calibration(row, largest == label, sums.bins);
  }
  if (requested.scores) {
    sums.scores.insert(sums.scores.end(), logits.begin(), logits.end());
    sums.labels.insert(sums.labels.end(), labels.begin(), labels.end());
  }
  sums.samples += static_cast<std::int64_t>(labels.size());
}

void add_numbers(const Metrics& requested, std::int64_t width, std::span<const double> predictions,
                 std::span<const float> targets, std::span<const double> losses, MetricSums& sums) {
  const auto numbers = static_cast<std::size_t>(width);
  sums.of.resize(requested.sums.size());
  if (requested.columns) sums.columns.resize(numbers);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    ++sums.samples;
    sums.loss += losses[i];
    for (std::size_t m = 0; m < requested.sums.size(); ++m) {
      double sum = 0;
      for (std::size_t j = i * numbers; j < (i + 1) * numbers; ++j) {
        const double lacking = requested.unit.origin.empty() ? 0 : requested.unit.origin[j - i * numbers];
        sum += of_number(requested.sums[m], predictions[j], static_cast<double>(targets[j]), lacking);
      }
      sums.of[m] += sum / static_cast<double>(width);
    }
    if (any_nan(predictions.subspan(i * numbers, numbers))) ++sums.num_nan;
    for (std::size_t j = 0; requested.columns && j < numbers; ++j) {
      add_column(predictions[i * numbers + j], static_cast<double>(targets[i * numbers + j]), sums.samples,
                 sums.columns[j]);
    }
  }
  if (requested.scores) {
    sums.scores.insert(sums.scores.end(), predictions.begin(), predictions.end());
    sums.targets.insert(sums.targets.end(), targets.begin(), targets.end());
  }
}

void add_labels(const Metrics& requested, std::int64_t width, std::span<const double> logits,
                std::span<const float> targets, std::span<const double> losses, MetricSums& sums) {
  const auto labels = static_cast<std::size_t>(width);
  sums.of.resize(requested.sums.size());
  if (requested.confusion) sums.confusion.resize(labels * 4);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    ++sums.samples;
    sums.loss += losses[i];
    const auto row = logits.subspan(i * labels, labels);
    const auto truth = targets.subspan(i * labels, labels);
    for (std::size_t m = 0; m < requested.sums.size(); ++m) sums.of[m] += of_labels(requested.sums[m], row, truth);
    if (any_nan(row)) {
      ++sums.num_nan;
      continue;
    }
    for (std::size_t j = 0; requested.confusion && j < labels; ++j) {
      ++sums.confusion[j * 4 + (truth[j] != 0 ? 2U : 0U) + (row[j] > 0 ? 1U : 0U)];
    }
  }
  if (requested.scores) {
    sums.scores.insert(sums.scores.end(), logits.begin(), logits.end());
    sums.targets.insert(sums.targets.end(), targets.begin(), targets.end());
  }
}

HostMetrics::HostMetrics(const Metrics& requested, std::int64_t width, kernels::Isa level)
    : requested_(requested), loss_(kernels::kernels<double>(level).loss(requested.loss)), width_(width) {
  LANISTA_CHECK(loss_ != nullptr, "no kernel for loss " + requested.loss);
  const auto entries = static_cast<std::int64_t>(requested.unit.mean.size());
  LANISTA_CHECK((entries == 0 || entries == width) && requested.unit.scale.size() == requested.unit.mean.size() &&
                    (requested.unit.origin.empty() || requested.unit.origin.size() == requested.unit.mean.size()),
                "a scaling of " + std::to_string(entries) + " targets for " + std::to_string(width) + " predictions");
}

void HostMetrics::add(std::span<const double> predictions, std::span<const std::int32_t> labels,
                      std::span<const float> targets, MetricSums& sums) {
  const auto of_each = losses(predictions, labels, targets);
  if (loss_->of_classes != nullptr) {
    add_classes(requested_, width_, predictions, labels, of_each, sums);
  } else if (requested_.labels) {
    add_labels(requested_, width_, predictions, targets, of_each, sums);
  } else {
    add_numbers(requested_, width_, predictions, targets, of_each, sums);
  }
}

std::span<const double> HostMetrics::losses(std::span<const double> predictions, std::span<const std::int32_t> labels,
                                            std::span<const float> targets, double label_smoothing) {
  const std::int64_t samples = static_cast<std::int64_t>(predictions.size()) / width_;
  losses_.resize(static_cast<std::size_t>(samples));
  scratch_.resize(predictions.size());
  if (loss_->of_classes != nullptr) {
    loss_->of_classes(samples, width_, label_smoothing, predictions.data(), labels.data(), losses_.data(),
                      scratch_.data());
  } else {
    for (std::size_t i = 0; i < targets.size(); ++i) scratch_[i] = static_cast<double>(targets[i]);
    if (!requested_.unit.mean.empty()) {
      requested_.unit.to_standardised(scratch_);
      standard_.assign(predictions.begin(), predictions.end());
      requested_.unit.to_standardised(standard_);
      predictions = standard_;
    }
    loss_->of_values(samples, width_, predictions.data(), scratch_.data(), losses_.data());
  }
  return losses_;
}

}  // namespace lanista::program
