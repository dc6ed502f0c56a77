#pragma once

#include <vector>

#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

/// Seconds of a ring's sum of `bytes` on so many devices.
double reduce_seconds(double bytes, std::int64_t devices, const Link& link);

/// What is near at a place: how much it has worked since each of its passes, in seconds of passes that find nothing
/// near.
struct CacheWarmth {
  struct Last {
    std::uint32_t stage;
    ActionKind kind;
    double seconds_worked;
  };
  double seconds_worked = 0;
  std::vector<Last> last;
};

/// What has arrived where in a step under way: the state that simulation and greedy schedules share.
struct StepState {
  static constexpr double kNever = 1e300;
  StepState(const PipelinePlan& the_plan, const Timing& the_timing);

  /// When all that a pass waits for has arrived; kNever where something is not sent yet.
  double ready(const Action& action) const;
  /// The pass ends and its transfers begin, behind those before.
  void finish(const Action& action, double end);
  double seconds(const Action& action) const;
  /// At a place: the less the place has worked since the same pass over another micro-batch, the more of what it reads
  /// is still near. Between none (StageTimes::again) and all passes of the model (1) the share is linear.
  double seconds(const Action& action, CacheWarmth& warmth) const;

  const PipelinePlan& plan;
  const Timing& timing;
  std::vector<std::vector<double>> forward_arrival, backward_arrival;  ///< [edge][sender's micro-batch]: arrival
  std::vector<double> forward_free_at, backward_free_at;               ///< [edge]
};

}  // namespace lanista::pipeline
