#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Failed trials with the same cause. The cause is the reason up to its first colon, without numbers.
struct FailureGroup {
  std::string cause;           ///< "diverged"
  std::int64_t count = 0;      ///< number of trials
  std::vector<TrialId> first;  ///< the first ten trials
  std::string message;         ///< whole reason of the first trial
};

/// The failed trials by cause, the most frequent cause first; ties in order of their first trial.
std::vector<FailureGroup> group_failures(const study::StudyView& view);

}  // namespace lanista::report
