#include "lanista/exec/program/score_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "lanista/base/portable_math.h"

namespace lanista::program {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// Returns log(1 + x) for x >= 0, accurate also for small x (Goldberg 1991, theorem 4).
double log_of_one_and(double x) {
  const double sum = 1 + x;
  return sum == 1 ? x : portable_log(sum) * (x / (sum - 1));
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The counts of one class in the confusion matrix.
struct ClassCount {
  std::int64_t right = 0, labels = 0, predictions = 0;
  double f1() const { return share(2 * right, labels + predictions); }
};

std::vector<ClassCount> class_counts(std::span<const std::int64_t> confusion, std::int64_t classes) {
  const auto n = static_cast<std::size_t>(classes);
  std::vector<ClassCount> counts(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      counts[i].labels += confusion[i * n + j];
      counts[j].predictions += confusion[i * n + j];
    }
    counts[i].right = confusion[i * n + i];
  }
  return counts;
}

/// The rows with one score; groups are ordered by falling score.
struct TiedRows {
  std::int64_t positives = 0, negatives = 0;
};

/// Pairs of a score and whether the row belongs to the class.
using Ranked = std::vector<std::pair<double, bool>>;
std::vector<TiedRows> ties(Ranked rows) {
  for (const auto& row : rows) {
    if (std::isnan(row.first)) return {};
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<TiedRows> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].first != rows[i - 1].first) out.emplace_back();
    ++(rows[i].second ? out.back().positives : out.back().negatives);
  }
  return out;
}

double area_under_curve(const std::vector<TiedRows>& ranks) {
  // Twice the pairs in which the row of the class has the higher score; a tie counts half.
  double pairs = 0, above = 0, below = 0;
  for (const TiedRows& tie : ranks) {
    const auto p = static_cast<double>(tie.positives), n = static_cast<double>(tie.negatives);
    pairs += n * (2 * above + p);
    above += p;
    below += n;
  }
  return above > 0 && below > 0 ? pairs / (2 * above * below) : kUndefined;
}

double precision_by_recall(const std::vector<TiedRows>& ranks) {
  if (ranks.empty()) return kUndefined;
  std::int64_t all = 0, found = 0, seen = 0;
  for (const TiedRows& tie : ranks) all += tie.positives;
  double sum = 0;
  for (const TiedRows& tie : ranks) {
    found += tie.positives;
    seen += tie.positives + tie.negatives;
    sum += static_cast<double>(tie.positives) * share(found, seen);
  }
  // One division, so that a perfect order gives exactly 1.
  return all == 0 ? 0.0 : sum / static_cast<double>(all);
}

/// The mean over classes of a metric: class 1 of two, or each class against the rest.
double mean_of_classes(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes,
                       double (*of)(const std::vector<TiedRows>&)) {
  const auto n = static_cast<std::size_t>(classes);
  Ranked rows(labels.size());
  if (n == 2) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {logits[2 * i + 1] - logits[2 * i], labels[i] == 1};
    return of(ties(std::move(rows)));
  }
  std::vector<Softmax> softmax;
  softmax.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) softmax.emplace_back(logits.subspan(i * n, n));
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i] = {softmax[i].log_of(logits[i * n + k]), labels[i] == static_cast<std::int32_t>(k)};
    }
    sum += of(ties(rows));
  }
  return sum / static_cast<double>(classes);
}

double mean_of_labels(std::span<const double> logits, std::span<const float> targets, std::int64_t labels,
                      double (*of)(const std::vector<TiedRows>&)) {
  const auto n = static_cast<std::size_t>(labels);
  Ranked rows(targets.size() / n);
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {logits[i * n + k], targets[i * n + k] != 0};
    sum += of(ties(rows));
  }
  return sum / static_cast<double>(labels);
}

}  // namespace

Softmax::Softmax(std::span<const double> row) {
  const auto largest = std::max_element(row.begin(), row.end());
  largest_ = *largest;
  for (auto logit = row.begin(); logit != row.end(); ++logit) {
    if (logit != largest) rest_ += portable_exp(*logit - largest_);
  }
  if (std::isinf(largest_)) rest_ = kUndefined;
  log_sum_ = log_of_one_and(rest_);
}

double balanced_accuracy(std::span<const std::int64_t> confusion, std::int64_t classes) {
  double sum = 0;
  std::int64_t present = 0;
  for (const ClassCount& count : class_counts(confusion, classes)) {
    if (count.labels == 0) continue;
    ++present;
    sum += share(count.right, count.labels);
  }
  return present > 0 ? sum / static_cast<double>(present) : kUndefined;
}

double f1_macro(std::span<const std::int64_t> confusion, std::int64_t classes) {
  double sum = 0;
  std::int64_t present = 0;
  for (const ClassCount& count : class_counts(confusion, classes)) {
    if (count.labels + count.predictions == 0) continue;
    ++present;
    sum += count.f1();
  }
  return present > 0 ? sum / static_cast<double>(present) : kUndefined;
}

double f1(std::span<const std::int64_t> confusion, std::int64_t classes) {
  const std::vector<ClassCount> counts = class_counts(confusion, classes);
  return counts[0].labels + counts[1].labels > 0 ? counts[1].f1() : kUndefined;
}

double matthews(std::span<const std::int64_t> confusion, std::int64_t classes) {
  double rows = 0, right = 0, both = 0, labels = 0, predictions = 0;
  for (const ClassCount& count : class_counts(confusion, classes)) {
    const auto l = static_cast<double>(count.labels), p = static_cast<double>(count.predictions);
    rows += l;
    right += static_cast<double>(count.right);
    both += l * p;
    labels += l * l;
    predictions += p * p;
  }
  if (rows == 0) return kUndefined;
  const double spread = (rows * rows - labels) * (rows * rows - predictions);
  return spread == 0 ? 0.0 : (right * rows - both) / std::sqrt(spread);
}

double calibration_error(std::span<const CalibrationBin> bins) {
  double sum = 0;
  std::int64_t rows = 0;
  for (const CalibrationBin& bin : bins) {
    rows += bin.rows;
    sum += std::fabs(static_cast<double>(bin.right) - bin.probability);
  }
  return rows > 0 ? sum / static_cast<double>(rows) : kUndefined;
}

double rmse(std::span<const ErrorColumn> columns, std::int64_t samples) {
  double sum = 0;
  for (const ErrorColumn& column : columns) sum += std::sqrt(column.squared_errors / static_cast<double>(samples));
  return sum / static_cast<double>(columns.size());
}

double r2(std::span<const ErrorColumn> columns, std::int64_t samples) {
  if (samples < 2) return kUndefined;
  double sum = 0;
  for (const ErrorColumn& column : columns) {
    if (column.target_squares != 0) {
      sum += 1 - column.squared_errors / column.target_squares;
    } else if (std::isnan(column.squared_errors)) {
      sum = kUndefined;
    } else {
      sum += column.squared_errors == 0 ? 1 : 0;
    }
  }
  return sum / static_cast<double>(columns.size());
}

double roc_auc(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes) {
  return mean_of_classes(logits, labels, classes, area_under_curve);
}

double average_precision(std::span<const double> logits, std::span<const std::int32_t> labels, std::int64_t classes) {
  return mean_of_classes(logits, labels, classes, precision_by_recall);
}

double label_loss(double logit, bool truth) {
  // log(1 + e^-margin), with the margin positive if the logit agrees with the truth.
  const double margin = truth ? logit : -logit;
  const double rest = log_of_one_and(portable_exp(-std::fabs(margin)));
  return margin < 0 ? rest - margin : rest;
}

double f1_of_labels(std::span<const std::int64_t> counts, std::int64_t labels) {
  double sum = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(labels); ++k) {
    const auto of = counts.subspan(4 * k, 4);  // true and false negatives and positives: tn fp fn tp
    sum += share(2 * of[3], 2 * of[3] + of[1] + of[2]);
  }
  return sum / static_cast<double>(labels);
}

double roc_auc_of_labels(std::span<const double> logits, std::span<const float> targets, std::int64_t labels) {
  return mean_of_labels(logits, targets, labels, area_under_curve);
}

double average_precision_of_labels(std::span<const double> logits, std::span<const float> targets,
                                   std::int64_t labels) {
  return mean_of_labels(logits, targets, labels, precision_by_recall);
}

}  // namespace lanista::program
