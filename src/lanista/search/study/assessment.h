#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/id.h"
#include "lanista/base/result.h"

namespace lanista::study {

/// Precision and recall of one class, or of one of several labels. A ratio 0 / 0 counts as 0.
struct ClassScore {
  std::int64_t label = 0;            ///< class or label
  std::int64_t rows = 0;             ///< rows with this class or label
  double precision = 0, recall = 0;  ///< shares from 0 to 1

  /// Returns the harmonic mean of precision and recall; 0 / 0 is 0.
  double f1() const { return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0; }

  friend bool operator==(const ClassScore&, const ClassScore&) = default;
};

/// Percentages at which Residuals has quantiles.
inline constexpr std::array<int, 7> kResidualPercents{1, 5, 25, 50, 75, 95, 99};

/// Summary of targets minus predictions, for one output. All values are NaN if a prediction is NaN or there is no row.
struct Residuals {
  double mean = 0;
  double spread = 0;  ///< standard deviation, with division by the number of rows
  /// Quantiles at kResidualPercents, interpolated (Hyndman and Fan, type 7).
  std::array<double, kResidualPercents.size()> quantiles{};
  double mae = 0, rmse = 0, r2 = 0;  ///< metrics of these names, for this output alone
};

/// A pair of label and wrong prediction, with the number of its rows.
struct ConfusedPair {
  std::int64_t label = 0, prediction = 0, rows = 0;

  friend bool operator==(const ConfusedPair&, const ConfusedPair&) = default;
};

/// Assessment of the best model on one part of the data.
///
/// Its size is bounded: counts of classes, a summary of each output, and at most kMaxPoints numbers of single rows.
struct PartAssessment {
  std::string part;  ///< "validation" or "test"
  std::int64_t rows = 0;
  std::int64_t lost = 0;                ///< Rows with a prediction that is NaN or infinite.
  std::vector<std::int64_t> confusion;  ///< Counts [label, prediction]; empty above kMaxConfusionClasses classes.
  /// Scores of classes that have rows, at most kMaxClasses, by rising recall and then falling number of rows. For
  /// targets with several labels: scores of all labels, by rising F1.
  std::vector<ClassScore> classes;
  std::vector<ConfusedPair> confused;  ///< Most frequent mistakes first, at most kMaxConfusedPairs.
  std::vector<Residuals> residuals;    ///< Regression only: one for each output, at most kMaxOutputs.
  /// Regression only: [sampled rows, shown outputs], in the unit of the targets.
  std::vector<double> actual, predicted;

  static constexpr std::int64_t kMaxConfusionClasses = 50;  ///< most classes with a confusion matrix
  /// Bounds of the lists above.
  static constexpr std::size_t kMaxClasses = 50, kMaxConfusedPairs = 30, kMaxOutputs = 8;
  static constexpr std::size_t kMaxPoints = 500;  ///< most numbers in `actual`
};

/// Assessment of the best model of a study, beyond its metrics, as the report shows it.
///
/// It is derived from the model package and the data, and stored next to the log, so the report page needs neither. It
/// holds targets of single rows, so it is not part of the package.
struct ModelAssessment {
  TrialId trial;             ///< Trial of the model.
  std::string weights_hash;  ///< Hash of the weights of the assessed package.
  std::int64_t classes = 0;  ///< Number of classes; 0: regression or labels.
  std::int64_t outputs = 1;  ///< Outputs of a prediction, of which shown() are shown; number of labels if `multilabel`.
  std::vector<PartAssessment> parts;
  bool multilabel = false;  ///< a row has any number of `outputs` labels

  /// Returns the number of outputs with residuals: min(outputs, kMaxOutputs).
  std::int64_t shown() const;
};

/// Returns the record of an assessment.
nlohmann::json assessment_json(const ModelAssessment& assessment);
/// Reads the record of an assessment. For any input, the result keeps to the bounds above and its lists have consistent
/// lengths. Errors: kDataLoss (invalid content), kFailedPrecondition (written by a newer version).
Result<ModelAssessment> read_assessment(std::string_view text);

}  // namespace lanista::study
