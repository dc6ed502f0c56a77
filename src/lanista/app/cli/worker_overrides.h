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

/// With whom a study is trained this time: never stored, and, but for a device of another numeric class, of no account
/// for results. What is not said the study says.
struct WorkerOverrides {
  std::optional<std::int64_t> workers, lanes;
  std::optional<std::string> isolation;
  std::vector<std::string> ssh = {}, launch = {};  ///< hosts; commands of the user's own
  std::optional<std::string> slurm = {};           ///< options of srun, any
  std::optional<std::string> device = {};          ///< in place of run.devices
  std::vector<std::string> program = {};           ///< PATH or HOST=PATH of lanista on other hosts
};

/// Where its worker processes are begun, if not all of them here: as the crew says, else as the study does.
/// Errors: kInvalidArgument (settings that do not go together).
Result<std::vector<engine::Launcher>> launchers_of(const WorkerOverrides& worker_overrides,
                                                   const study::StudyConfig& config);

/// Whether workers are processes: because they are to be, or because they are elsewhere.
bool uses_processes(const WorkerOverrides& worker_overrides, const study::StudyConfig& config);

/// How many; 0: one per core.
std::int64_t worker_count(const WorkerOverrides& worker_overrides, const study::StudyConfig& config);

/// What a study is trained with, wherever it lies: what the command line says goes before the study. All ranks of
/// run.pipeline are on this machine, so a verb that only predicts or measures starts no program on another host.
engine::WorkerConfig make_worker_config(const study::StudyConfig& config, const WorkerOverrides& worker_overrides);

/// The same for `run` and `resume`, with the hosts of cluster.places and the path of lanista on each.
/// Errors: as of launchers_of.
Result<engine::WorkerConfig> make_worker_config_with_hosts(const study::StudyConfig& config,
                                                           const WorkerOverrides& worker_overrides);

}  // namespace lanista::cli
