#pragma once

#include <string>
#include <string_view>
#include <vector>

// The hosts of a study's worker processes. The study file has it as `cluster`.
namespace lanista::study {

/// The name that stands for this machine in lists of hosts.
inline constexpr std::string_view kHere = "here";
/// The hosts of the worker processes of a study (run.workers in all). By default all run on this machine. Results do
/// not depend on it.
struct ClusterConfig {
  std::vector<std::string> ssh;    ///< Hosts to which workers are assigned in turn; kHere: this machine.
  std::vector<std::string> slurm;  ///< Options of srun for the workers, one in each text.
  /// Hosts to which the ranks of run.pipeline, except rank 0 of each worker, are assigned in turn; kHere: this machine.
  /// Empty: all ranks are on the machine of the worker and share memory.
  std::vector<std::string> places = {};
  double link_us = 0;             ///< Latency to a host in `places` for plans, in microseconds.
  double link_gb_per_second = 0;  ///< Bandwidth to it for plans, in GB/s; 0: plans ignore transfers.
  /// True if neither `ssh` nor `slurm` is set, so that workers need no launcher. `places` does not count. False also if
  /// all names in `ssh` are this machine.
  bool is_here() const { return ssh.empty() && slurm.empty(); }
};

}  // namespace lanista::study
