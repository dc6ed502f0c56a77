#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

struct ConfidenceInterval {
  double low = 0, high = 0;
};

/// Where a share lies with 95 % when it was `share` of `rows` independent rows (Wilson 1927, "Probable inference", the
/// score interval: sound near 0 and 1, too).
ConfidenceInterval wilson_interval(double share, std::int64_t rows);

/// Student's t with so many degrees of freedom, from 1: what it stays below with 97.5 %. To three digits.
double student_quantile(std::int64_t freedom);

/// How far the best trial's score may be luck of its validation rows.
struct NoiseBand {
  ConfidenceInterval band;     ///< of the best trial's score
  std::int64_t rows = 0;       ///< of the validation part; 0: it follows from trainings
  std::int64_t trainings = 0;  ///< of the best proposal, on whose spread over folds it rests; 0: on rows
  std::int64_t trials = 0;     ///< whose scores lie in it, the best included: rows do not tell them apart
};
/// Of a study with one goal. With data.folds: what the trainings of the best proposal measured, mean +- Student's t
/// times their deviation times sqrt(1 / n + validation rows / training rows), as trainings share rows (Nadeau and
/// Bengio 2003, "Inference for the generalization error"). Else of a goal that is a share of rows (val_accuracy,
/// val_top<k>; of labels val_exact_match) and one training a proposal. `ranked`: its standings, best first. nullopt:
/// where that is not so, or nothing is ranked. The rows are the same for all trials and their errors alike, so two
/// trials may differ by less than the band and differ indeed.
std::optional<NoiseBand> noise_band(const StudyView& view, const std::vector<RankingKey>& ranked);

}  // namespace lanista::study
