#pragma once

#include <string>
#include <vector>

namespace lanista::cli {

/// Options of `simulate --workload`: the jobs of a trace on a cluster of nodes (docs/concepts/goodput.md).
struct WorkloadRequest {
  std::string workload;               ///< CSV: name, time, application, num_replicas, batch_size.
  std::string data;                   ///< Folder of the applications' traces.
  std::vector<std::string> policies;  ///< Names of allocators; empty: all.
  int nodes = 16;                     ///< Number of nodes of the cluster.
  int devices = 4;                    ///< Number of devices of each node.
  bool json = false;                  ///< True: print one JSON object.
};

/// Prints, for each policy, the mean completion time and the makespan in seconds, and the lower bound of the mean. JSON
/// also has each job; text also has the 99 % quantile and the moves. Returns the exit code.
int simulate_workload(const WorkloadRequest& request);

}  // namespace lanista::cli
