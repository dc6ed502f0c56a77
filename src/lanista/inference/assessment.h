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

/// How well a model does on labelled rows.
struct Assessment {
  std::int64_t rows = 0;
  std::int64_t lost = 0;                  ///< rows with a prediction that is not a number
  std::map<std::string, double> metrics;  ///< loss, those of the model's study, and all others that suit the task
  std::int64_t classes = 0;             ///< 0: numbers, or labels
  bool multilabel = false;              ///< of labels
  std::vector<std::int64_t> confusion;  ///< of classes: rows by [label, prediction], the lost ones left out; of labels
                                        ///< [labels, truth, prediction]
  std::vector<Residuals> residuals;       ///< of numbers: one each number of a prediction
};

/// Of each class, by a confusion matrix.
std::vector<ClassScore> class_scores(std::span<const std::int64_t> confusion, std::int64_t classes);
/// Of each label, by its counts [labels, truth, prediction]; `rows` are those that have it.
std::vector<ClassScore> label_scores(std::span<const std::int64_t> counts);
/// The classes with the lowest recall, the worst first, of equal ones the first; of those that have rows.
std::vector<ClassScore> hardest_classes(std::span<const std::int64_t> confusion, std::int64_t classes,
                                        std::size_t most);
/// Predictions and targets are [n, width].
std::vector<Residuals> residuals_of(std::span<const double> predictions, std::span<const float> targets,
                                    std::int64_t width);

}  // namespace lanista::runtime
