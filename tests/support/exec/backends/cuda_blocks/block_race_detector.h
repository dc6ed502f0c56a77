#pragma once

#include <cstdint>
#include <string>

#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

namespace lanista::device {

/// What was seen of a block's accesses to the memory of its lane.
struct RaceReport {
  std::int64_t accesses = 0, races = 0;
  std::string first;  ///< what the first race was
};

/// The steps of a lane with every access to `bytes` of its slab watched: a race is two threads at one address between
/// two barriers, one of them writing. Adds to `race_report`.
void run_with_race_detector(const block::Lane& lane, std::int64_t bytes, RaceReport& race_report);

/// For tests of the watch itself: a phase in which thread 3 reads what thread 2 writes.
RaceReport report_of_injected_race();

}  // namespace lanista::device
