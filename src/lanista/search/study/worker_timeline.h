#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/search/study/study_view.h"

namespace lanista::study {

/// What a worker did without a break: an epoch of a trial, or of several that took turns at its steps, or help with
/// another worker's epoch.
struct WorkerInterval {
  struct TimeSlice {
    std::size_t span = 0;  ///< of the view
    double seconds = 0;    ///< of the go's that were this trial's: at any time those that are still at it share equally
  };
  std::int64_t worker = 0;
  double began = 0, ended = 0;    ///< worked seconds of the study
  std::vector<TimeSlice> slices;  ///< in the order of their trials; a helper's are its leader's
  std::int64_t lanes = 1;         ///< trials that took turns, as spans say; more than turns where the log lacks some
  std::int64_t width = 1;         ///< workers that began it together
  std::optional<std::int64_t> leader = {};  ///< whom the worker helped
  double seconds() const { return ended - began; }
};

/// In the order of workers, each in the order of time. Spans of trials that shared their steps are slices, told one
/// behind the other: the k-th begins k times its length after the go did and is a lanes-th of the time until that trial
/// was through. So the go can be had back where all of them are told; where some are not, each is a go by itself.
///
/// Helpers tell nothing of their own. As many as the width says are taken to be those workers that had the least work
/// of their own meanwhile, and none for more than half of it, the lower number of equals; with two workers that is who
/// it was. Workers are those that told of work, those that are there as processes, and as many more as the widest
/// needs. O(n log n) in the spans, times the workers in those of several workers.
std::vector<WorkerInterval> worker_timeline(const StudyView& view);

}  // namespace lanista::study
