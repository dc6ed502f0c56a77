#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/executor.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/engine/local/frozen_parts.h"
#include "lanista/engine/local/group_pool.h"
#include "lanista/engine/local/shared_epochs.h"
#include "lanista/engine/local/trial_dispatcher.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::runtime {

/// What trials share on one machine.
struct WorkerContext {
  const data::Dataset& data;
  const nn::Operators& operators;
  const graph::OpTable& step_ops;
  const Clock& clock;
  store::CheckpointStore& checkpoints;
  MemoryBudget& budget;
  SharedEpochs& epochs;
  FrozenParts& frozen;
  GroupPool& groups;
  std::vector<std::string> metrics;
  std::vector<study::Metric> own_metrics;
  double checkpoint_every = 30;  ///< seconds
  const nn::Backend& backend;
};

/// What a worker does with the slots it has in hand, from their first step to their last checkpoint. Whatever a trial
/// throws becomes its own FailureReport (the trial wall: a search never dies of one model). Workers may call it at the
/// same time for different slots.
class TrialWork {
 public:
  /// `report` takes reports, `spill_idle` parks the trials that nobody works on; both are thread-safe. All outlive this.
  TrialWork(WorkerContext context, std::function<void(engine::Report)> report, std::function<void()> spill_idle)
      : context_(std::move(context)), report_(std::move(report)), spill_idle_(std::move(spill_idle)) {}

  /// Does what next_work chose; an epoch ends before its time when `pausing` gets true. `worker` is its number.
  void run(TrialDispatcher::WorkItem& item, std::size_t worker, const std::atomic<bool>& pausing);

  /// Computes shards of another worker's trial, epoch after epoch, until `should_leave` is true at the end of one, or `must_stop` is.
  /// What goes wrong is nobody's failure: the trial's own worker goes on alone. False: there is no use in trying again.
  bool help(const engine::HelpTrial& help, const std::atomic<bool>& should_leave, const std::atomic<bool>& must_stop);

  /// Puts the state of a trial that nobody works on into the store, and gives its memory back. A store that cannot take
  /// it is the study's trouble: it is told, and the trial keeps its state.
  void spill(TrialSlot& slot);

  /// What a job trains: its model, or the head behind its frozen part. Errors: those of FrozenParts::head_of.
  Result<train::TrainerInput> trainer_input(const engine::Job& job) const;

 private:
  Result<void> try_run(TrialDispatcher::WorkItem& item, std::size_t worker, const std::atomic<bool>& pausing);
  Result<bool> with_memory(TrialSlot& slot, const std::function<Result<void>()>& make);
  Result<bool> admit(const train::LaneGroup& group, TrialSlot& slot);
  std::vector<TrialSlot*> admit_all(const train::LaneGroup& group, const TrialDispatcher::Slots& slots);
  /// Those of the lanes that may train their epoch: whose start races has raced, and who tunes itself has searched by
  /// then, if it wanted to.
  std::vector<TrialSlot*> run_pre_epoch_searches(train::LaneGroup& group, std::vector<TrialSlot*> lanes,
                                     const std::atomic<bool>& pausing);
  Result<void> try_help(const engine::HelpTrial& help, const std::atomic<bool>& should_leave, const std::atomic<bool>& must_stop);
  /// An epoch on which work began at that time, races and searches included.
  void train_epoch(train::LaneGroup& group, std::vector<TrialSlot*> lanes, std::size_t worker,
                   const std::atomic<bool>& pausing, const std::string& session);
  void train_lanes(train::LaneGroup& group, std::vector<TrialSlot*> lanes, double began, std::size_t worker,
                   const std::atomic<bool>& pausing, const std::string& session);
  Result<void> finish(TrialSlot& slot, const EndRequest& end_request);
  void save(TrialSlot& slot);
  void fail(TrialSlot& slot, const std::string& reason);

  WorkerContext context_;
  std::function<void(engine::Report)> report_;
  std::function<void()> spill_idle_;
};

}  // namespace lanista::runtime
