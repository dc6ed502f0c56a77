#pragma once

#include <vector>

#include "lanista/plan/goodput/allocation.h"
#include "lanista/plan/goodput/workload.h"

namespace lanista::cluster {

/// Average completion times, in seconds, that no policy passes, however much it knows (pollux.md, section 10).
struct CompletionBounds {
  double isolation = 0;  ///< every job has the whole cluster, at its best configuration in every epoch
  double work = 0;       ///< the least device-seconds of each job, perfectly divisible, the shortest left first
  double best() const { return isolation > work ? isolation : work; }
};
/// Configurations are packed: powers of two of a node's devices, or whole nodes, at batches of the 50 that best_plan
/// looks at; so the bounds hold for policies that choose among these, up to that grid. Nothing is charged for restarts.
CompletionBounds bounds_of(const Workload& workload, const Nodes& nodes, bool pins_ncf = true);

/// Seconds of an application of its own length on so many devices, packed, at the best batch in every epoch:
/// [devices - 1]; infinite where the count does not pack or no batch fits. What a width is truly worth.
std::vector<double> best_seconds_by_devices(const Application& application, const Nodes& nodes);

/// The mean completion time of shortest-remaining-first on a machine that gives every job up to all of its speed:
/// `work` in device-seconds, `devices` of them. A bound for all policies.
double shortest_first_mean(std::span<const double> arrivals, std::span<const double> work, double devices);

}  // namespace lanista::cluster
