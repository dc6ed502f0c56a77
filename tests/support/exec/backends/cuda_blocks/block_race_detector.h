#pragma once

#include <cstdint>
#include <string>

#include "lanista/exec/backends/cuda_blocks/device/types.inc.h"

namespace lanista::device {

/// Races that were found in a block's accesses to the memory of its lane.
struct RaceReport {
  std::int64_t accesses = 0, races = 0;
  std::string first;  ///< description of the first race
};

/// Runs the steps of a lane and checks every access to the first `bytes` bytes of its slab. A race is two threads at
/// one address between two barriers, one of them writing. Adds to `race_report`.
void run_with_race_detector(const block::Lane& lane, std::int64_t bytes, RaceReport& race_report);

/// For tests of the detector: a phase in which thread 3 reads what thread 2 writes.
RaceReport report_of_injected_race();

}  // namespace lanista::device
