#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/engine/remote/worker_fleet.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// The workers and devices of one run, from the command line. They are never stored. Only a device of another numeric
/// class changes results. An empty field keeps the setting of the study, but any of `ssh`, `slurm` and `launch`
/// replaces cluster.ssh and cluster.slurm.
struct WorkerOverrides {
  std::optional<std::int64_t> workers;     ///< Number of threads or processes; 0: automatic.
  std::optional<std::int64_t> lanes;       ///< Most trials that a worker trains together.
  std::optional<std::string> isolation;    ///< thread | process
  std::vector<std::string> ssh = {};       ///< Hosts that ssh reaches.
  std::vector<std::string> launch = {};    ///< Commands that start a worker process.
  std::optional<std::string> slurm = {};   ///< Options of srun, separated by spaces; "" means --nodes=1.
  std::optional<std::string> device = {};  ///< Names of devices, with commas, which replace run.devices.
  std::vector<std::string> program = {};   ///< PATH or HOST=PATH of lanista on other hosts.
};

/// Returns the launchers of worker processes on other hosts, from the command line or else from the study. Empty if all
/// workers run on this machine. Errors: kInvalidArgument (settings that contradict each other, a bad host or path, or
/// Slurm without a number of workers).
Result<std::vector<engine::Launcher>> launchers_of(const WorkerOverrides& worker_overrides,
                                                   const study::StudyConfig& config);

/// True if workers are processes: the isolation requires it, or ssh, Slurm or a launch command starts them.
bool uses_processes(const WorkerOverrides& worker_overrides, const study::StudyConfig& config);

/// Returns the number of workers: the setting, or else one for each host of ssh and each launch command. 0: one a core.
std::int64_t worker_count(const WorkerOverrides& worker_overrides, const study::StudyConfig& config);

/// Returns the worker settings of a run; the command line has precedence over the study. All ranks of run.pipeline are
/// on this machine, so that a verb that only predicts or measures starts no program on another host.
engine::WorkerConfig make_worker_config(const study::StudyConfig& config, const WorkerOverrides& worker_overrides);

/// Returns the worker settings of `run` and `resume`, with the hosts of cluster.places and the path of lanista on each.
/// Errors: those of launchers_of.
Result<engine::WorkerConfig> make_worker_config_with_hosts(const study::StudyConfig& config,
                                                           const WorkerOverrides& worker_overrides);

}  // namespace lanista::cli
