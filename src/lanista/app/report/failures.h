#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// Failed trials that share a cause: what their reasons say before the first colon, numbers left out.
struct FailureGroup {
  std::string cause;  ///< "diverged"
  std::int64_t count = 0;
  std::vector<TrialId> first;  ///< the first ten, in order of proposal
  std::string message;         ///< the first trial's, whole
};

/// The commonest cause first; ties in order of their first trial.
std::vector<FailureGroup> group_failures(const study::StudyView& view);

}  // namespace lanista::report
