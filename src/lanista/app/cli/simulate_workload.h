#pragma once

#include <string>
#include <vector>

namespace lanista::cli {

/// Jobs of a trace on a cluster of nodes (docs/concepts/goodput.md).
struct WorkloadRequest {
  std::string workload;               ///< CSV: name, time, application, num_replicas, batch_size
  std::string data;                   ///< folder of the applications' traces
  std::vector<std::string> policies;  ///< by name; none: all
  int nodes = 16, devices = 4;        ///< devices of a node
  bool json = false;
};

/// Prints how long jobs take under each policy, beside the bounds. Gives the exit code.
int simulate_workload(const WorkloadRequest& request);

}  // namespace lanista::cli
