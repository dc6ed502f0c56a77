#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Failed trials with the same cause. The cause is the reason up to its first colon, at most 80 bytes, with "#" for
/// each number. Without a reason it is "no reason given".
struct FailureGroup {
  std::string cause;           ///< Cause, such as "diverged".
  std::int64_t count = 0;      ///< Number of trials.
  std::vector<TrialId> first;  ///< The first ten of these trials, by number.
  std::string message;         ///< Whole reason of the first of these trials.
};

/// Returns the failed trials of a study by cause, the most frequent cause first; ties in order of their first trial.
std::vector<FailureGroup> group_failures(const study::StudyView& view);

}  // namespace lanista::report
