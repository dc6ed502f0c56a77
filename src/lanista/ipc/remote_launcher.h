#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"
#include "lanista/ipc/cluster_checks.h"
#include "lanista/ipc/cluster_config.h"
#include "lanista/ipc/worker_process.h"

// Worker processes on other machines. The program that starts them there (ssh, srun) also carries their messages over
// the standard streams. No port is open and no secret is needed: every user that may start a process there may use it.
// The study's folder must be shared and have the same path on every machine.
namespace lanista::engine {

/// The command that starts a worker, or a process for a pipeline rank, on another machine. Empty `arguments`: it starts
/// on this machine.
struct RemoteLauncher {
  std::string name;                    ///< name for messages: "ssh node2"
  std::vector<std::string> arguments;  ///< program and arguments; the last are `worker --stdio`, or `stage`
  std::string host = {};  ///< host without user and port; empty: this machine, or known only from the worker
};

/// The launchers for the hosts of a study file, in the order in which workers are assigned to them: one for each host
/// of ssh, or one in all for Slurm. Empty: all workers run on this machine. `programs` has the paths of lanista on the
/// hosts. Precondition: check_cluster() accepted `cluster`.
std::vector<RemoteLauncher> ssh_and_slurm_launchers(const study::ClusterConfig& cluster, const ProgramPaths& programs);
/// The launchers for pipeline ranks on other hosts: for each of `hosts` (ClusterConfig::places), in that order, the
/// command `ssh … PROGRAM stage` with the path of lanista in `programs`. That of study::kHere has no arguments.
std::vector<RemoteLauncher> stage_launchers(const std::vector<std::string>& hosts, const ProgramPaths& programs);
/// Makes a launcher from a command of the user that runs its arguments on some machine, such as "docker exec -i box".
/// The command is split at spaces; quotes have no meaning. `program`, the path of lanista there, and `worker --stdio`
/// are added at its end. Errors: kInvalidArgument for an empty command.
Result<RemoteLauncher> command_launcher(const std::string& command, const std::string& program);

/// Returns the channel of a worker over its standard input and output. From now on standard input is empty, what this
/// process prints goes to stderr, and SIGPIPE is ignored. Call it once.
Channel claim_standard_streams();

/// Calls `work` in a child process, which ends with this one, and returns its exit code, or 128 + the number of the
/// signal that ended the child. In the child it returns the result of `work`, too. If no child can be made, it calls
/// `work` in this process.
int run_supervised(const std::function<int()>& work);

}  // namespace lanista::engine
