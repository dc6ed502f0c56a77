#pragma once

#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

/// Lower bounds on the seconds of a step.
///
/// Those of a problem hold for every plan and schedule. Those of a plan hold for every schedule of it.
struct Bounds {
  double work = 0;      ///< All work at each operator's best time per sample, on all devices, without idle time.
  double stage = 0;     ///< Of a plan: the longest path to a stage, all passes of the stage, and the longest path back.
  double path = 0;      ///< The critical path of the smallest share of a micro-batch, forward and backward.
  double transfer = 0;  ///< Of a plan: all transfers of its busiest link in one direction.
  /// Returns the largest bound.
  double best() const;
};
/// Returns the bounds of a problem, for micro-batches up to the batch on one or several devices.
Bounds bounds_of(const Problem& problem);
/// Returns the bounds of a plan.
Bounds bounds_of(const PipelinePlan& plan, const Problem& problem);

}  // namespace lanista::pipeline
