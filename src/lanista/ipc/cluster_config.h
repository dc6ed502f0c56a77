#pragma once

#include <string>
#include <string_view>
#include <vector>

// The hosts of a study's worker processes. The study file has it as `cluster`.
namespace lanista::study {

/// cluster.ssh: this machine.
inline constexpr std::string_view kHere = "here";
/// Where worker processes are, run.workers in all; nothing: here. Never changes results.
struct ClusterConfig {
  std::vector<std::string> ssh;          ///< hosts, to which they are dealt in turn, or kHere
  std::vector<std::string> slurm;        ///< options of the jobs in which they are, one each
  std::vector<std::string> places = {};  ///< hosts to which places of run.pipeline but a worker's own are dealt, or
                                         ///< kHere; none: all are where the worker is, and see the same memory
  double link_us = 0, link_gb_per_second = 0;  ///< of links to them, as plans count them; no speed: not at all
  bool is_here() const { return ssh.empty() && slurm.empty(); }
};

}  // namespace lanista::study
