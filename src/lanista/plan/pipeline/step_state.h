#pragma once

#include <vector>

#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

/// Returns the seconds of a ring all-reduce of `bytes` bytes over this many devices.
double reduce_seconds(double bytes, std::int64_t devices, const Link& link);

/// What is in the cache of a rank: how much the rank has worked since each of its passes. StepState::seconds() uses it:
/// the less work between two runs of a pass, the nearer its time is to that with a warm cache.
struct CacheWarmth {
  /// The last run of a pass.
  struct Last {
    std::uint32_t stage;    ///< Number of the stage.
    ActionKind kind;        ///< Kind of the pass.
    double seconds_worked;  ///< Value of CacheWarmth::seconds_worked after the pass.
  };
  /// Work of the rank so far, in seconds of passes with a cold cache. Stages with a warm_cache_factor of 1 do not
  /// count.
  double seconds_worked = 0;
  std::vector<Last> last;  ///< Last run of each pass, by stage and kind.
};

/// Arrival times of all transfers of a simulated step. Simulation and greedy schedules share it.
struct StepState {
  static constexpr double kNever = 1e300;  ///< Stands for a time that is not known yet.
  /// Begins a step in which nothing has been sent. Plan and times must live as long as the state.
  StepState(const PipelinePlan& the_plan, const Timing& the_timing);

  /// Returns the second of the step at which all inputs of a pass have arrived; kNever if one has not been sent. 0 if
  /// it has no inputs.
  double ready(const Action& action) const;
  /// Records that a pass ended at second `end`, and begins its transfers. Each edge has one channel in each direction.
  /// A transfer begins when those of earlier calls on its channel are done, so passes of one stage must be
  /// given in the order in which they end. A pass for weight gradients alone has no transfers.
  void finish(const Action& action, double end);
  /// Returns the seconds of a pass with a cold cache.
  double seconds(const Action& action) const;
  /// Returns the seconds of a pass on a rank, and updates the cache state.
  ///
  /// The factor of the time grows linearly from StageTimes::warm_cache_factor to 1 with the work of the rank since the
  /// end of the last run of the same pass, this pass included. It is 1 from cold_after_seconds on, and for the first
  /// run.
  double seconds(const Action& action, CacheWarmth& warmth) const;

  const PipelinePlan& plan;                           ///< Plan of the step.
  const Timing& timing;                               ///< Times of its stages and edges.
  std::vector<std::vector<double>> forward_arrival;   ///< [edge][producer's micro-batch]: second a value arrives at.
  std::vector<std::vector<double>> backward_arrival;  ///< [edge][consumer's micro-batch]: second a gradient arrives at.
  std::vector<double> forward_free_at;                ///< [edge]: second at which the forward channel is free.
  std::vector<double> backward_free_at;               ///< [edge]: second at which the backward channel is free.
};

}  // namespace lanista::pipeline
