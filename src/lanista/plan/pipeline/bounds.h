#pragma once

#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

/// Seconds that no step is below (graphpipe.md 5). Those of a problem hold for every plan of it and every schedule,
/// those of a plan for every schedule of it.
struct Bounds {
  double work = 0;      ///< LB1: all work at each operator's best time per sample, on all devices, without a bubble
  double stage = 0;     ///< LB2, of a plan: longest way to a stage, all its passes, longest way back
  double path = 0;      ///< LB3: critical path of the smallest share of a micro-batch, forth and back
  double transfer = 0;  ///< LB4, of a plan: what its fullest link carries one way
  double best() const;
};
/// Micro-batches up to the batch count, whole or shared out among devices.
Bounds bounds_of(const Problem& problem);
Bounds bounds_of(const PipelinePlan& plan, const Problem& problem);

}  // namespace lanista::pipeline
