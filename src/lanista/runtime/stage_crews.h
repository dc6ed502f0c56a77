#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "lanista/engine/channel.h"
#include "lanista/engine/worker_process.h"
#include "lanista/nn/stages.h"
#include "lanista/runtime/shared_memory.h"
#include "lanista/runtime/stage_task.h"

namespace lanista::runtime {

/// A process that was at a place of a pipeline and is gone.
struct LostPlace {
  pid_t process = 0;
  std::string reason;  ///< "was killed by signal 9 (Killed)"
};

/// Processes for the places of pipelines. A crew is those of one step; there are as many as steps were ever under way
/// at a time, begun when they are first wanted. Programs take turns at them: one that comes back to a crew that has
/// done steps of another since has it make its program anew. Who is lost is replaced when another program wants the
/// place. Thread-safe; outlives all that it gave out.
class StageCrews {
 public:
  /// `told` hears of losses, from whatever thread finds them.
  explicit StageCrews(engine::LaunchWorker launch, std::function<void(const LostPlace&)> told = {});
  ~StageCrews();

  /// The places but the first of a program with this task, which has none yet. Nothing is begun before its first step.
  std::shared_ptr<nn::StagePlaces> places(StageTask task);

 private:
  class Crew;
  class Lease;

  Crew& borrow(std::uint64_t program);
  void give_back(Crew& crew);

  engine::LaunchWorker launch_;
  std::function<void(const LostPlace&)> told_;
  std::mutex mutex_;  // of who has which crew
  std::uint64_t programs_ = 0;
  std::list<std::unique_ptr<Crew>> crews_;
};

/// `PROGRAM stage`, begun as workers are; `program` is a path, or empty for the program that runs now.
engine::LaunchWorker launch_stage(std::string program = {});

}  // namespace lanista::runtime
