#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

// What planner, schedules and simulation are judged by; shares no code with them.

/// A discrete-event run of strict kFkB without transfers, from the text of graphpipe.md 4.1: it steps from one end of a
/// pass to the next and asks every stage what it may begin. F takes `forward` and B twice that, a micro-batch.
/// 1e300 where it never ends.
double event_simulation_seconds(const std::vector<std::vector<std::uint32_t>>& next,
                                const std::vector<std::int64_t>& size, const std::vector<double>& forward,
                                const std::vector<std::int64_t>& turns, const std::vector<std::int64_t>& in_flight,
                                std::int64_t batch);

/// Seconds of the best step of all partitions into stages without a circle, each on devices of its own, all numbers of
/// devices and all powers of two as micro-batches, by `event_simulation_seconds`; `at_most` if none is shorter. Of the
/// problem it knows forward times that are a start and so much a sample (both parts of the backward pass take the
/// same), one class of devices, no memory and no transfers. For about 12 operators on 4 devices: O(stages^operators).
double exact_seconds(const Problem& problem, double at_most = 1e300);

}  // namespace lanista::pipeline
