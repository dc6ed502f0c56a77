#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/plan/goodput/application.h"

namespace lanista::cluster {

/// A job that a user hands in.
struct Submission {
  std::string name;
  double time = 0;              ///< seconds
  std::size_t application = 0;  ///< of Workload::applications
  std::int32_t replicas = 1;    ///< that its user asks for
  std::int64_t batch = 1;       ///< that its user asks for
  double length = 1;            ///< times the application's own: what an epoch takes
};

struct Workload {
  std::vector<std::shared_ptr<const Application>> applications;
  std::vector<Submission> jobs;  ///< in their order in the file
};

/// Reads a workload of Pollux's artefact (name,time,application,num_replicas,batch_size) and the traces of what it
/// names in `data`/traces, or `data` itself. Errors: those of read_application; kDataLoss for a batch that the
/// application was never trained with, and for a file without jobs.
Result<Workload> read_workload(FileSystem& fs, const std::string& path, const std::string& data);

}  // namespace lanista::cluster
