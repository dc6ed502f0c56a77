#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/exec/pipeline_parallel/shared_memory.h"
#include "lanista/exec/pipeline_parallel/stage_task.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/ipc/channel.h"
#include "lanista/ipc/remote_launcher.h"
#include "lanista/ipc/worker_process.h"

namespace lanista::runtime {

/// A process that served a rank of a pipeline and has ended or does not answer.
struct LostRank {
  pid_t process = 0;      ///< Id of the lost process.
  std::string reason;     ///< Text for people, e.g. "was killed by signal 9 (Killed)".
  std::string host = {};  ///< Name of its host; empty: this host.
};

/// A host with the function that starts a rank's process on it.
struct StageHost {
  engine::LaunchWorker launch;  ///< Starts a process and connects to it.
  std::string host = {};        ///< Name of the host; empty: this host.
};
/// The hosts on which a pool starts processes.
struct StageHosts {
  /// Hosts for all ranks but rank 0, at least one. A process starts on the host with the fewest processes. A host on
  /// which a process failed to start is not used for 10 minutes.
  std::vector<StageHost> hosts;
  bool has_separate_memory = false;  ///< True: ranks there do not share memory with rank 0.
  double heartbeat_timeout_s = 30;   ///< Seconds that a rank with separate memory may be silent before it is lost.
};
/// Returns this host alone: ranks start as `PROGRAM stage`. `program` is a path; empty means the running program.
StageHosts local_stage_hosts(std::string program = {});
/// Returns the hosts of some launchers, in their order; a launcher without arguments means this host. Ranks have
/// separate memory.
StageHosts remote_stage_hosts(const std::vector<engine::RemoteLauncher>& ranks);

/// A pool of processes that serve the ranks of pipelines except rank 0.
///
/// It has one group of processes for each pipeline step that runs at the same time. Groups start when they are first
/// needed. Programs take turns with a group; a program is compiled again there after another one has used it. A lost
/// process is replaced when a program next needs its rank. After 10 minutes of one step, the process of rank 1
/// counts as lost.
/// Thread-safe. Must outlive all that ranks() returned. The destructor ends the processes.
class StageProcessPool {
 public:
  /// `on_loss`, if set, is called once for each lost process, in the thread that finds the loss.
  explicit StageProcessPool(StageHosts hosts, std::function<void(const LostRank&)> on_loss = {});
  ~StageProcessPool();

  /// Returns the ranks of one program except rank 0. The fields `build`, `number`, `rank`, `memory`, `bytes` and
  /// `digest` of `task` are set later. No process starts before the first step.
  std::shared_ptr<program::RemoteRanks> ranks(StageTask task);
  /// True: ranks of this pool do not share memory with rank 0 (program::Stages::has_separate_memory).
  bool have_separate_memory() const { return hosts_.has_separate_memory; }

 private:
  class ProcessGroup;
  class BorrowedGroup;

  ProcessGroup& borrow(std::uint64_t program);
  void give_back(ProcessGroup& group);

  const StageHosts hosts_;
  std::function<void(const LostRank&)> on_loss_;
  std::mutex mutex_;  // protects the assignment of groups to programs
  std::uint64_t programs_ = 0;
  std::list<std::unique_ptr<ProcessGroup>> groups_;
};

}  // namespace lanista::runtime
