#pragma once

#include <vector>

#include "lanista/pipeline/simulate.h"

namespace lanista::pipeline {

/// Seconds of a ring's sum of `bytes` on so many devices.
double reduce_seconds(double bytes, std::int64_t devices, const Link& link);

/// What has arrived where in a step under way: the state that simulation and greedy schedules share.
struct Flow {
  static constexpr double kNever = 1e300;
  Flow(const Plan& the_plan, const Timing& the_timing);

  /// When all that a pass waits for has arrived; kNever where something is not sent yet.
  double ready(const Action& action) const;
  /// The pass ends and its transfers begin, behind those before.
  void finish(const Action& action, double end);
  double seconds(const Action& action) const;
  /// Behind another action at its place, or none.
  double seconds(const Action& action, const Action* before) const;

  const Plan& plan;
  const Timing& timing;
  std::vector<std::vector<double>> forth, back;  ///< [edge][sender's micro-batch]: arrival
  std::vector<double> forth_free, back_free;     ///< [edge]
};

}  // namespace lanista::pipeline
