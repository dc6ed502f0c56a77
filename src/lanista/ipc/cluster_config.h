#pragma once

#include <string>
#include <string_view>
#include <vector>

// The hosts of a study's worker processes. The study file has it as `cluster`.
namespace lanista::study {

/// The name of this machine in cluster.ssh.
inline constexpr std::string_view kHere = "here";
/// The hosts of the worker processes, run.workers in all. By default all run on this machine. Never changes results.
struct ClusterConfig {
  std::vector<std::string> ssh;    ///< Hosts to which the workers are assigned in turn, or kHere.
  std::vector<std::string> slurm;  ///< Options of the Slurm jobs in which the workers run, one in each text.
  /// Hosts to which the ranks of run.pipeline except a worker's own are assigned in turn, or kHere. Empty: all ranks
  /// are on the worker's machine and share its memory.
  std::vector<std::string> places = {};
  double link_us = 0;             ///< Latency of a link to those hosts for plans, in microseconds.
  double link_gb_per_second = 0;  ///< Speed of such a link for plans, in GB/s; 0: plans do not count links.
  /// Whether all workers run on this machine.
  bool is_here() const { return ssh.empty() && slurm.empty(); }
};

}  // namespace lanista::study
