#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/search/study/assessment.h"

namespace lanista::runtime {

using study::ClassScore;
using study::kResidualPercents;
using study::Residuals;

/// Quality of a model's predictions on labelled rows.
struct Assessment {
  std::int64_t rows = 0;                  ///< Number of rows.
  std::int64_t lost = 0;                  ///< Rows with a NaN or infinite prediction.
  std::map<std::string, double> metrics;  ///< Loss, the study's metrics, and all others for the task.
  std::int64_t classes = 0;               ///< Number of classes or labels; 0: the targets are numbers.
  bool multilabel = false;                ///< `classes` counts labels.
  /// Numbers of rows. Classes: [label, prediction], without the lost rows. Labels: [label, truth, prediction].
  std::vector<std::int64_t> confusion;
  std::vector<Residuals> residuals;  ///< Of numeric targets: one for each output.
};

/// Precision and recall of each class, from a confusion matrix [classes, classes].
std::vector<ClassScore> class_scores(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Precision and recall of each label, from counts [labels, truth, prediction]. `rows` counts the rows that have the
/// label.
std::vector<ClassScore> label_scores(std::span<const std::int64_t> counts);
/// The `most` classes with the lowest recall, lowest first; ties by number. Classes without rows are left out.
std::vector<ClassScore> hardest_classes(std::span<const std::int64_t> confusion, std::int64_t classes,
                                        std::size_t most);
/// Residuals of each output. Predictions and targets are [n, width].
std::vector<Residuals> residuals_of(std::span<const double> predictions, std::span<const float> targets,
                                    std::int64_t width);

}  // namespace lanista::runtime
