#pragma once

#include <string>
#include <vector>

namespace lanista::cli {

/// Options of `simulate --workload`: the jobs of a trace on a cluster of nodes (docs/concepts/goodput.md).
struct WorkloadRequest {
  std::string workload;               ///< CSV: name, time, application, num_replicas, batch_size
  std::string data;                   ///< folder of the applications' traces
  std::vector<std::string> policies;  ///< names of allocators; empty: all
  int nodes = 16;                     ///< nodes of the cluster
  int devices = 4;                    ///< devices of a node
  bool json = false;                  ///< print one JSON object
};

/// Prints the completion times of the jobs under each policy, and the lower bound. Returns the exit code.
int simulate_workload(const WorkloadRequest& request);

}  // namespace lanista::cli
