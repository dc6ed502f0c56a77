#pragma once

#include <string>
#include <string_view>
#include <vector>

// The hosts of a study's worker processes. The study file has it as `cluster`.
namespace lanista::study {

/// The name of this machine in cluster.ssh and cluster.places.
inline constexpr std::string_view kHere = "here";
/// The hosts of the run.workers worker processes. Empty lists: all are on this machine. Hosts never change results.
struct ClusterConfig {
  std::vector<std::string> ssh;          ///< Hosts that get the workers in turn, or kHere.
  std::vector<std::string> slurm;        ///< Options of srun, one each; each worker is a Slurm job.
  std::vector<std::string> places = {};  ///< Hosts of the ranks of run.pipeline except rank 0, in turn, or kHere.
                                         ///< Empty: all ranks share the memory of the worker.
  double link_us = 0;                    ///< Latency of links to these hosts in plans, microseconds.
  double link_gb_per_second = 0;         ///< Speed of these links; 0: plans ignore them.
  /// Whether all worker processes are on this machine.
  bool is_here() const { return ssh.empty() && slurm.empty(); }
};

}  // namespace lanista::study
