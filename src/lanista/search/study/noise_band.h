#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

/// An interval that contains the true value with a probability of about 95 %.
struct ConfidenceInterval {
  double low = 0, high = 0;  ///< Lower and upper end, included.
};

/// Returns the 95 % interval of the true share, if `share` was seen in `rows` independent rows, at least 1 (Wilson
/// 1927, "Probable inference", score interval). It is valid near 0 and 1 too.
ConfidenceInterval wilson_interval(double share, std::int64_t rows);

/// Returns the 97.5 % quantile of Student's t with `freedom` degrees of freedom, from 1. It is exact to three digits.
double student_quantile(std::int64_t freedom);

/// The interval in which the true score of the best trial lies, and the trials inside it.
struct NoiseBand {
  ConfidenceInterval band;     ///< Interval of the best trial's score, in the unit of the goal's metric.
  std::int64_t rows = 0;       ///< Validation rows from which it follows; 0: it follows from trainings.
  std::int64_t trainings = 0;  ///< Trainings of the best proposal from which it follows; 0: from rows.
  std::int64_t trials = 0;     ///< Ranked trials without violation and not worse than `band`, with the best.
};
/// Returns the noise band of a study with one goal. `ranked` is ranking_keys(view).
///
/// With folds it is the mean of the trainings of the best proposal, plus or minus Student's t times their deviation
/// times sqrt(1 / n + validation rows / training rows). The second term is there because trainings share rows (Nadeau
/// and Bengio 2003, "Inference for the generalization error"). It ends at the range of the metric (range_of); with the
/// first rules only shares of rows do.
///
/// Without folds it is the Wilson interval of a goal that is a share of rows: val_accuracy, val_top<k>, or
/// val_exact_match for labels.
///
/// nullopt: other goals (with folds: no validation metric), several trainings of a proposal without folds, nothing is
/// ranked, or the best trial violates a constraint or has NaN. All trials have the same validation rows, so two trials
/// may differ by less than the band and still differ in truth.
std::optional<NoiseBand> noise_band(const StudyView& view, const std::vector<RankingKey>& ranked);

/// A baseline that the search did not beat.
struct BaselineVerdict {
  std::string name;        ///< Name of the baseline.
  double value = 0;        ///< Its value of the first goal.
  double best = 0;         ///< That of the best trial, or of the ensemble in best/ if it is better.
  bool is_better = false;  ///< True: the baseline is better. False: it is worse, but within the noise band.
};
/// Returns the baseline with the best value of the first goal, if the best trial is not better by more than the noise.
/// `ranked` is ranking_keys(view). nullopt: it is, nothing is ranked, no baseline has the metric, or the study has the
/// first rules.
std::optional<BaselineVerdict> baseline_verdict(const StudyView& view, const std::vector<RankingKey>& ranked);

}  // namespace lanista::study
