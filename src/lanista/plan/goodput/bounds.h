#pragma once

#include <vector>

#include "lanista/plan/goodput/allocation.h"
#include "lanista/plan/goodput/workload.h"

namespace lanista::goodput {

/// Lower bounds on the mean completion time of the jobs, in seconds, if restarts cost nothing.
///
/// They hold for policies that choose among these configurations: powers of two of a node's devices or whole nodes,
/// with the 50 batch sizes that best_plan tries.
struct CompletionBounds {
  double isolation = 0;  ///< Mean of the times that the jobs need if each has the whole cluster alone.
  double work = 0;       ///< All devices share each job without loss, and the shortest job runs first.
  /// Returns the larger bound, in seconds.
  double best() const { return isolation > work ? isolation : work; }
};
/// Computes the bounds of a workload. With `pins_ncf` the application `ncf` has one device and its largest batch.
CompletionBounds bounds_of(const Workload& workload, const Nodes& nodes, bool pins_ncf = true);

/// Returns the seconds of a whole job on 1, 2, ... packed devices, at the best batch size in every epoch.
///
/// Entry k - 1 is for k devices. It is infinite if k devices cannot be packed or no batch size fits.
std::vector<double> best_seconds_by_devices(const Application& application, const Nodes& nodes);

/// Returns the mean completion time of shortest-remaining-first, in seconds, if all devices can work on one job.
///
/// Job i arrives at second arrivals[i] and needs work[i] device-seconds; the order is free. 0 without jobs. It is a
/// lower bound for all policies.
double shortest_first_mean(std::span<const double> arrivals, std::span<const double> work, double devices);

}  // namespace lanista::goodput
