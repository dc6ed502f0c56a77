#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"
#include "lanista/ipc/cluster_checks.h"
#include "lanista/ipc/worker_process.h"
#include "lanista/ipc/cluster_config.h"

// Worker processes on other machines. The program that starts them there (ssh, srun) also carries their messages over
// the standard streams. No port is open and no secret is needed: every user that may start a process there may use it.
// The study's folder must be shared and have the same path on every machine.
namespace lanista::engine {

/// The command that starts a worker on another machine.
struct RemoteLauncher {
  std::string name;                    ///< for messages: "ssh node2"
  std::vector<std::string> arguments;  ///< the command, up to `worker --stdio`
  std::string host = {};               ///< the machine, if it is known before a worker reports it
};

/// The launchers that a study file asks for, in the order in which workers are assigned to them. Empty: all workers run
/// on this machine. `programs` are the paths of lanista there. Precondition: check_cluster() accepted `cluster`.
std::vector<RemoteLauncher> ssh_and_slurm_launchers(const study::ClusterConfig& cluster, const ProgramPaths& programs);
/// The launchers of the hosts of pipeline ranks (ClusterConfig::places), one for each host.
std::vector<RemoteLauncher> stage_launchers(const std::vector<std::string>& hosts, const ProgramPaths& programs);
/// A launcher from a command of the user, which is split at spaces. Errors: kInvalidArgument (no word).
Result<RemoteLauncher> command_launcher(const std::string& command, const std::string& program);

/// The worker's end of the channel over standard input and output. Nothing else of this process uses these streams from
/// now on; what it prints goes to stderr.
Channel claim_standard_streams();

/// Runs `work` in a child process and returns its exit code, or 128 + the number of the signal that ended it. Launchers
/// pass such codes on.
int run_supervised(const std::function<int()>& work);

}  // namespace lanista::engine
