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

/// A process that served a rank of a pipeline and is gone.
struct LostRank {
  pid_t process = 0;
  std::string reason;     ///< e.g. "was killed by signal 9 (Killed)"
  std::string host = {};  ///< empty: this host
};

/// A host with the function that starts a rank's process on it.
struct StageHost {
  engine::LaunchWorker launch;
  std::string host = {};  ///< empty: this host
};
/// The hosts on which a pool starts processes.
struct StageHosts {
  std::vector<StageHost> hosts;      ///< Hosts for ranks in turn, at least one.
  bool has_separate_memory = false;  ///< Whether ranks there do not share memory with rank 0.
  double heartbeat_timeout_s = 30;   ///< Seconds that a rank with separate memory may be silent.
};
/// This host: ranks start as `PROGRAM stage`. `program` is a path; empty means the running program.
StageHosts local_stage_hosts(std::string program = {});
/// The hosts of some launchers; a launcher without arguments means this host. Ranks have separate memory.
StageHosts remote_stage_hosts(const std::vector<engine::RemoteLauncher>& ranks);

/// A pool of processes for the ranks of pipelines except rank 0.
///
/// It has one group of processes for each step that runs at the same time. Groups start when they are first needed.
/// Programs take turns with a group; after another program has used it, a program compiles again there. A lost process
/// is replaced when a program next needs its rank. Thread-safe. Must outlive all that ranks() returned.
class StageProcessPool {
 public:
  /// `on_loss` is called for each lost process, from the thread that finds the loss.
  explicit StageProcessPool(StageHosts hosts, std::function<void(const LostRank&)> on_loss = {});
  ~StageProcessPool();

  /// Returns the ranks of a program except rank 0. `task` needs no rank, memory or digest. No process starts before the
  /// first step.
  std::shared_ptr<nn::RemoteRanks> ranks(StageTask task);
  /// The value for nn::Stages::has_separate_memory of such a task.
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
