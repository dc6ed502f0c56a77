#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

/// Of trials that began at the same rung, which is what tells brackets apart in a log: how many there are, and how many
/// of them were let train to each further rung.
struct BracketCounts {
  std::int64_t first = 0;  ///< epoch of its first rung, or the whole schedule
  std::int64_t trials = 0;
  std::map<std::int64_t, std::int64_t> further;  ///< by epoch
};

/// In the order of their first rungs. Empty in studies whose trials do not rest. O(trials).
std::vector<BracketCounts> bracket_counts(const StudyView& view);

/// "1 > 3 > 9": the rungs of a trial so far; empty for one that was to train to its end at once.
std::string rungs_text(const TrialView& trial);

}  // namespace lanista::study
