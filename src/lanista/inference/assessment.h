#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/assessment.h"

namespace lanista::inference {

using study::ClassScore;
using study::kResidualPercents;
using study::Residuals;

/// Quality of a model's predictions on labelled rows.
struct Assessment {
  std::int64_t rows = 0;  ///< Number of rows.
  std::int64_t lost = 0;  ///< Number of rows with a NaN prediction.
  /// Values by name without a prefix ("accuracy"): loss, the study's metrics, and all others that suit the task. For
  /// texts it has no ranking metrics that the study lacks.
  std::map<std::string, double> metrics;
  std::int64_t classes = 0;  ///< Number of classes or labels; 0: the targets are numbers.
  bool multilabel = false;   ///< True: each row may have several of the `classes` labels.
  /// Numbers of rows, flattened. Classes: [true class, predicted class], without the lost rows. Labels: [label, truth,
  /// prediction] with 0 for no and 1 for yes. Empty: the targets are numbers.
  std::vector<std::int64_t> confusion;
  std::vector<Residuals> residuals;  ///< One entry for each output of numeric targets; else empty.
};

/// Rows, precision and recall of each class, in order of class numbers. `confusion` is a flattened matrix [true class,
/// predicted class] of size `classes` x `classes`. Recall is 0 for a class without rows, and precision is 0 for a class
/// that is never predicted.
std::vector<ClassScore> class_scores(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Precision and recall of each label, in order, from flattened counts [label, truth, prediction]. ClassScore::rows
/// counts the rows that have the label. Recall is 0 for a label without rows, and precision is 0 for a label that is
/// never predicted.
std::vector<ClassScore> label_scores(std::span<const std::int64_t> counts);
/// At most `most` classes with the lowest recall, lowest first; of equal ones the lower number is first. Classes
/// without rows are left out. `confusion` is a flattened matrix [true class, predicted class] of size `classes` x
/// `classes`.
std::vector<ClassScore> hardest_classes(std::span<const std::int64_t> confusion, std::int64_t classes,
                                        std::size_t most);
/// Statistics of the residuals (target - prediction) of each output. Both arguments are flattened [rows, width]. With a
/// NaN residual, or without rows, all statistics of an output are NaN.
std::vector<Residuals> residuals_of(std::span<const double> predictions, std::span<const float> targets,
                                    std::int64_t width);

}  // namespace lanista::inference
