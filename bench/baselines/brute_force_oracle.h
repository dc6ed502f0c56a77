#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

// Independent implementations for tests of planner, schedules and simulation. They share no code with these.

/// Returns the seconds of strict kFkB without transfers, by a discrete-event run. 1e300 for a deadlock.
///
/// A forward pass of a stage over a micro-batch needs `forward` seconds, and a backward pass twice that. `next` has the
/// successors of each stage, `size` its micro-batch, `turns` its k, and `in_flight` its samples in flight.
double event_simulation_seconds(const std::vector<std::vector<std::uint32_t>>& next,
                                const std::vector<std::int64_t>& size, const std::vector<double>& forward,
                                const std::vector<std::int64_t>& turns, const std::vector<std::int64_t>& in_flight,
                                std::int64_t batch);

/// Returns the seconds of the best step of all partitions into stages, by event_simulation_seconds.
///
/// It tries all partitions without a cycle, all numbers of devices, and all powers of two as micro-batches. The result
/// is `at_most` if none is shorter. The problem must have one class of devices and linear forward times. Both parts of
/// a backward pass need the forward time. Memory and transfers are ignored. For about 12 operators on 4 devices:
/// O(stages^operators).
double exact_seconds(const Problem& problem, double at_most = 1e300);

}  // namespace lanista::pipeline
