#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"
#include "lanista/ipc/cluster_checks.h"
#include "lanista/ipc/worker_process.h"
#include "lanista/ipc/cluster_config.h"

// Worker processes of other machines. Whoever brings them there (ssh, srun) also carries what is said, over the
// standard streams, so that no port is open and no secret is needed: who may begin a process there may talk to it. The
// study's folder has to be a shared one, at the same path everywhere.
namespace lanista::engine {

/// What begins a worker elsewhere.
struct RemoteLauncher {
  std::string name;                ///< in messages: "ssh node2"
  std::vector<std::string> arguments;  ///< of the program that does it, up to `worker --stdio`
  std::string host = {};           ///< where that is, if it is known before a worker says so
};

/// What a study file asks for, in the order in which workers are dealt to it; empty: all workers are here. `programs`
/// are run there. Precondition: ClusterConfig was checked (check_cluster).
std::vector<RemoteLauncher> ssh_and_slurm_launchers(const study::ClusterConfig& cluster, const ProgramPaths& programs);
/// Hosts of places of pipelines (ClusterConfig::places) likewise; no words: `here`.
std::vector<RemoteLauncher> stage_launchers(const std::vector<std::string>& hosts, const ProgramPaths& programs);
/// By a command of the user's own, cut at spaces. Errors: kInvalidArgument (it has no word).
Result<RemoteLauncher> command_launcher(const std::string& command, const std::string& program);

/// The worker's end: standard input and output, which nothing else of this process sees from now on; what it prints
/// goes to stderr.
Channel claim_standard_streams();

/// Does `work` in a child and ends as that does, by a signal with 128 + its number, which launchers pass on.
int run_supervised(const std::function<int()>& work);

}  // namespace lanista::engine
