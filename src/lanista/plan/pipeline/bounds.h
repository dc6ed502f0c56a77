#pragma once

#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

/// Lower bounds on the seconds of one training step.
///
/// The bounds of a Problem (a model and its devices) hold for every plan and schedule; `stage` and `transfer` are then
/// 0. The bounds of a plan hold for every schedule of the plan.
struct Bounds {
  double work = 0;      ///< All work at each operator's best time per sample, on all devices, without idle time.
  double stage = 0;     ///< Of a plan: the longest path to a stage, all passes of the stage, and the longest path back.
  double path = 0;      ///< The critical path of the smallest share of a micro-batch, forward and backward.
  double transfer = 0;  ///< Of a plan: all transfers of a step over its busiest edge in one direction.
  /// Returns the largest of the four bounds, in seconds.
  double best() const;
};
/// Returns the bounds that hold for every plan of a problem, for micro-batches from one sample to the batch.
Bounds bounds_of(const Problem& problem);
/// Returns the bounds that hold for every schedule of a plan.
Bounds bounds_of(const PipelinePlan& plan, const Problem& problem);

}  // namespace lanista::pipeline
