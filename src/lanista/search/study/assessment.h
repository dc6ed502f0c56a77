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

/// Precision and recall of one class on one part, or of one of several labels. A ratio 0 / 0 counts as 0.
struct ClassScore {
  std::int64_t label = 0;            ///< Index of the class or label, from 0.
  std::int64_t rows = 0;             ///< Number of rows that have this class or label as target.
  double precision = 0, recall = 0;  ///< Shares from 0 to 1.

  /// Returns the harmonic mean of precision and recall; 0 / 0 is 0.
  double f1() const { return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0; }

  friend bool operator==(const ClassScore&, const ClassScore&) = default;
};

/// Percentages at which Residuals has quantiles.
inline constexpr std::array<int, 7> kResidualPercents{1, 5, 25, 50, 75, 95, 99};

/// Summary of targets minus predictions, for one output. All values are NaN if a prediction of this output is NaN or
/// there is no row.
struct Residuals {
  double mean = 0;    ///< Mean of targets minus predictions.
  double spread = 0;  ///< Standard deviation, with division by the number of rows.
  /// Quantiles at kResidualPercents, interpolated (Hyndman and Fan, type 7).
  std::array<double, kResidualPercents.size()> quantiles{};
  /// Metrics of these names, for this output alone; not in the record, so 0 after read_assessment.
  double mae = 0, rmse = 0, r2 = 0;
};

/// A wrong class: the class index of the target, that of the prediction, and the number of rows with this pair.
struct ConfusedPair {
  std::int64_t label = 0, prediction = 0, rows = 0;

  friend bool operator==(const ConfusedPair&, const ConfusedPair&) = default;
};

/// Assessment of the best model on one part of the data.
///
/// Its size is bounded: counts of classes, a summary of each output, and at most kMaxPoints numbers of single rows.
struct PartAssessment {
  std::string part;       ///< Name of the part: "validation" or "test".
  std::int64_t rows = 0;  ///< Rows of the part.
  std::int64_t lost = 0;  ///< Number of rows with a NaN in the prediction. Counts of classes and labels omit them.
  /// Row counts [label, prediction], row-major. Empty above kMaxConfusionClasses classes and without classes.
  std::vector<std::int64_t> confusion;
  /// Scores of classes that have rows, by rising recall and then falling number of rows. For targets with several
  /// labels: scores of labels, by rising F1 and then falling number of rows. Of both, only the first kMaxClasses.
  std::vector<ClassScore> classes;
  std::vector<ConfusedPair> confused;  ///< Pairs with the most rows first, at most kMaxConfusedPairs.
  std::vector<Residuals> residuals;    ///< Regression only: one for each output, at most kMaxOutputs.
  /// Regression only: targets and predictions [sampled rows, shown outputs], row-major, in the unit of the targets,
  /// rounded to five digits.
  std::vector<double> actual, predicted;

  static constexpr std::int64_t kMaxConfusionClasses = 50;  ///< Most classes with a confusion matrix.
  /// Largest sizes of `classes`, `confused` and `residuals`.
  static constexpr std::size_t kMaxClasses = 50, kMaxConfusedPairs = 30, kMaxOutputs = 8;
  static constexpr std::size_t kMaxPoints = 500;  ///< Most numbers in `actual`, and in `predicted`.
};

/// Assessment of the best model of a study, beyond its metrics, as the report shows it.
///
/// It is derived from the model package and the data, and stored next to the log, so the report page needs neither. It
/// holds targets of single rows, so it is not part of the package.
struct ModelAssessment {
  TrialId trial;             ///< Trial of the model; of an ensemble, the winner.
  std::string weights_hash;  ///< Hash of the weights of the assessed package, in hexadecimal digits.
  std::int64_t classes = 0;  ///< Number of classes; 0: regression or labels.
  std::int64_t outputs = 1;  ///< Outputs of a prediction, of which shown() are shown; number of labels if `multilabel`.
  std::vector<PartAssessment> parts;  ///< Assessed parts: validation, and perhaps test.
  bool multilabel = false;            ///< True: a row has any number of `outputs` labels.

  /// Returns the number of outputs with residuals: min(outputs, kMaxOutputs).
  std::int64_t shown() const;
};

/// Returns an assessment as a JSON record: "v" (layout), "trial", "weights_hash", "classes", "outputs" and "parts".
/// Lists of the parts that the kind of target does not have are left out.
nlohmann::json assessment_json(const ModelAssessment& assessment);
/// Reads the record of an assessment from JSON text. For any input, lists of the result have consistent lengths, at
/// most those of PartAssessment. Errors: kDataLoss (invalid content), kFailedPrecondition (written by a newer version).
Result<ModelAssessment> read_assessment(std::string_view text);

}  // namespace lanista::study
