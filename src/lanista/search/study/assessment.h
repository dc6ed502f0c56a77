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

/// Of one class, or one of several labels: precision and recall are 0 where they would be 0 / 0.
struct ClassScore {
  std::int64_t label = 0;
  std::int64_t rows = 0;  ///< that have this label
  double precision = 0, recall = 0;

  /// The harmonic mean of the two; 0 / 0 is 0.
  double f1() const { return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0; }

  friend bool operator==(const ClassScore&, const ClassScore&) = default;
};

inline constexpr std::array<int, 7> kResidualPercents{1, 5, 25, 50, 75, 95, 99};

/// What targets minus predictions look like, of one number of the predictions. All NaN if a prediction is, or if there
/// is no row.
struct Residuals {
  double mean = 0;
  double spread = 0;  ///< standard deviation: root of the mean square about the mean
  std::array<double, kResidualPercents.size()> quantiles{};  ///< between two values by their distance (Hyndman, Fan: 7)
  double mae = 0, rmse = 0, r2 = 0;                          ///< as metrics of the same names, of this number alone
};

/// A mistake, and how often it was made.
struct ConfusedPair {
  std::int64_t label = 0, prediction = 0, rows = 0;

  friend bool operator==(const ConfusedPair&, const ConfusedPair&) = default;
};

/// What a model does with the rows of one part of its study's data. Bounded, whatever the data: counts of classes, and
/// of numbers a summary and a few hundred single rows.
struct PartAssessment {
  std::string part;  ///< "validation", "test"
  std::int64_t rows = 0;
  std::int64_t lost = 0;                ///< rows with a prediction that is not a number
  std::vector<std::int64_t> confusion;  ///< by [label, prediction]; empty beyond kMaxConfusionClasses classes
  std::vector<ClassScore> classes;  ///< that have rows, the lowest recall first, then most rows, at most kMaxClasses;
                                    ///< of labels all, the lowest f1 first
  std::vector<ConfusedPair> confused;     ///< most frequent mistakes first, at most kMaxConfusedPairs
  std::vector<Residuals> residuals;       ///< of numbers: one an output, at most kMaxOutputs
  std::vector<double> actual, predicted;  ///< of numbers: [drawn rows, outputs shown], in the targets' own unit

  static constexpr std::int64_t kMaxConfusionClasses = 50;
  static constexpr std::size_t kMaxClasses = 50, kMaxConfusedPairs = 30, kMaxOutputs = 8;
  static constexpr std::size_t kMaxPoints = 500;  ///< numbers in `actual`
};

/// How good the winner is, beyond its metrics: what a study's report shows of its model. Derived of package and data,
/// and kept beside the log, so that the page needs neither; it holds single targets, so it is no part of the package.
struct ModelAssessment {
  TrialId trial;
  std::string weights_hash;  ///< of the package that was assessed
  std::int64_t classes = 0;  ///< 0: numbers, or labels
  std::int64_t outputs = 1;  ///< numbers a prediction, of which min(outputs, kMaxOutputs) are shown; of labels: labels
  std::vector<PartAssessment> parts;
  bool multilabel = false;  ///< a row has any of `outputs` labels

  /// How many outputs are told of.
  std::int64_t shown() const;
};

nlohmann::json assessment_json(const ModelAssessment& assessment);
/// The inverse. Whatever comes, what is given keeps to the bounds above and its lists have the lengths they should.
/// Errors: kDataLoss (what does not fit), kFailedPrecondition (written by a newer version).
Result<ModelAssessment> read_assessment(std::string_view text);

}  // namespace lanista::study
