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

#include "lanista/ipc/channel.h"
#include "lanista/ipc/remote_launcher.h"
#include "lanista/ipc/worker_process.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/pipeline_parallel/shared_memory.h"
#include "lanista/exec/pipeline_parallel/stage_task.h"

namespace lanista::runtime {

/// A process that was at a place of a pipeline and is gone.
struct LostRank {
  pid_t process = 0;
  std::string reason;     ///< "was killed by signal 9 (Killed)"
  std::string host = {};  ///< where it was, if that is not here
};

/// What begins a place's process, and where.
struct StageHost {
  engine::LaunchWorker launch;
  std::string host = {};  ///< empty: here
};
struct StageHosts {
  std::vector<StageHost> hosts;  ///< to which places are dealt in turn; at least one
  bool has_separate_memory = false;            ///< places there do not see each other's memory
  double heartbeat_timeout_s = 30;          ///< seconds that such a place may be silent
};
/// On this machine, as `PROGRAM stage`, begun as workers are; `program` is a path, or empty for the program that runs
/// now.
StageHosts local_stage_hosts(std::string program = {});
/// Wherever those words begin it; no words: here.
StageHosts remote_stage_hosts(const std::vector<engine::RemoteLauncher>& ranks);

/// Processes for the places of pipelines. A crew is those of one step; there are as many as steps were ever under way
/// at a time, begun when they are first wanted. Programs take turns at them: one that comes back to a crew that has
/// done steps of another since has it make its program anew. Who is lost is replaced when another program wants the
/// place. Thread-safe; outlives all that it gave out.
class StageProcessPool {
 public:
  /// `on_loss` hears of losses, from whatever thread finds them.
  explicit StageProcessPool(StageHosts hosts, std::function<void(const LostRank&)> on_loss = {});
  ~StageProcessPool();

  /// The places but the first of a program with this task, which has none yet. Nothing is begun before its first step.
  std::shared_ptr<nn::RemoteRanks> ranks(StageTask task);
  /// What the stages of such a task must say of their places (nn::Stages::apart).
  bool have_separate_memory() const { return hosts_.has_separate_memory; }

 private:
  class ProcessGroup;
  class BorrowedGroup;

  ProcessGroup& borrow(std::uint64_t program);
  void give_back(ProcessGroup& group);

  const StageHosts hosts_;
  std::function<void(const LostRank&)> on_loss_;
  std::mutex mutex_;  // of who has which crew
  std::uint64_t programs_ = 0;
  std::list<std::unique_ptr<ProcessGroup>> groups_;
};

}  // namespace lanista::runtime
