#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/study/view.h"

namespace lanista::study {

struct Interval {
  double low = 0, high = 0;
};

/// Where a share lies with 95 % when it was `share` of `rows` independent rows (Wilson 1927, "Probable inference", the
/// score interval: sound near 0 and 1, too).
Interval score_interval(double share, std::int64_t rows);

/// How far the best trial's score may be luck of its validation rows.
struct NoiseBand {
  Interval band;            ///< of the best trial's score
  std::int64_t rows = 0;    ///< of the validation part
  std::int64_t trials = 0;  ///< whose scores lie in it, the best included: rows do not tell them apart
};
/// Of a study with one goal that is a share of rows (val_accuracy, val_top<k>; of labels val_exact_match) and one training a proposal; `ranked`:
/// its standings, best first. nullopt: where that is not so, or nothing is ranked. The rows are the same for all trials
/// and their errors alike, so two trials may differ by less than the band and differ indeed.
std::optional<NoiseBand> noise_band(const StudyView& view, const std::vector<Standing>& ranked);

}  // namespace lanista::study
