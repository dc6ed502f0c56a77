#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/plan/goodput/application.h"

namespace lanista::goodput {

/// A job that a user submits.
struct Submission {
  std::string name;             ///< Name of the job, from the file.
  double time = 0;              ///< Second of its submission.
  std::size_t application = 0;  ///< Index in Workload::applications.
  std::int32_t replicas = 1;    ///< Replicas that the user requests.
  std::int64_t batch = 1;       ///< Batch size of all replicas that the user requests, in samples.
  double length = 1;            ///< Work of the job, relative to a whole training of the application.
};

/// The jobs of a simulation.
struct Workload {
  std::vector<std::shared_ptr<const Application>> applications;  ///< Applications that jobs name.
  std::vector<Submission> jobs;                                  ///< In the order of the file.
};

/// Reads a workload of Pollux's artefact: a CSV file with name,time,application,num_replicas,batch_size.
///
/// The traces of its applications are read from `data`/traces, or from `data` itself. As in the artefact, `yolov3` gets
/// a largest local batch of at most 8. Every job has length 1. Errors: kNotFound, kIo and kDataLoss as for
/// read_application; kDataLoss for a batch size outside the measured range, and for a file without jobs.
Result<Workload> read_workload(FileSystem& fs, const std::string& path, const std::string& data);

}  // namespace lanista::goodput
