#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

/// Number of trials of one bracket, and how many of them trained to each further rung. In a log, a bracket is known by
/// the first rung of its trials.
struct BracketCounts {
  std::int64_t first = 0;   ///< Epoch of the first rung; for trials that never pause, the epochs of their schedule.
  std::int64_t trials = 0;  ///< Number of trials of the bracket.
  /// Number of trials that trained to each further rung, by the epoch of the rung.
  std::map<std::int64_t, std::int64_t> further;
};

/// Returns the brackets by rising first rung. Empty if no trial has rungs. O(trials).
std::vector<BracketCounts> bracket_counts(const StudyView& view);

/// Returns the rungs of a trial so far as text, in epochs: "1 > 3 > 9". Empty for a trial that trains to its end at
/// once.
std::string rungs_text(const TrialView& trial);

}  // namespace lanista::study
