#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/local/frozen_parts.h"
#include "lanista/engine/local/group_pool.h"
#include "lanista/engine/local/shared_epochs.h"
#include "lanista/engine/local/trial_dispatcher.h"
#include "lanista/engine/local/trial_slot.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::runtime {

/// What TrialWork needs from its executor, for all workers together. Objects by reference outlive the workers.
struct WorkerContext {
  const data::Dataset& data;               ///< Data of the study.
  const program::Operators& operators;     ///< Kernels of the caller's own operators.
  const graph::OpTable& step_ops;          ///< Operator table of training steps.
  const Clock& clock;                      ///< Clock of spans and checkpoints.
  store::CheckpointStore& checkpoints;     ///< Checkpoint store of the study.
  MemoryBudget& budget;                    ///< Memory limit, which counts programs, states and caches.
  SharedEpochs& epochs;                    ///< Augmented epochs that trials share.
  FrozenParts& frozen;                     ///< Inputs of trials with a frozen part.
  GroupPool& groups;                       ///< Lane programs that wait for trials.
  std::vector<std::string> metrics;        ///< Names of the metrics to measure, as in the study file.
  std::vector<study::Metric> own_metrics;  ///< Metrics that the caller defines.
  double checkpoint_every = 30;            ///< Seconds between two checkpoints of a trial.
  const program::Backend& backend;         ///< Compiles programs.
};

/// Performs the work items of workers, from a trial's first step to its last checkpoint. Every exception of a trial
/// becomes its FailureReport, so one model cannot end a search. Workers may call it concurrently with different work
/// items.
class TrialWork {
 public:
  /// `report` receives reports for the engine. `spill_idle` spills the states of idle trials when memory is short. Both
  /// must be thread-safe.
  TrialWork(WorkerContext context, std::function<void(engine::Report)> report, std::function<void()> spill_idle)
      : context_(std::move(context)), report_(std::move(report)), spill_idle_(std::move(spill_idle)) {}

  /// Performs a work item on the worker with index `worker`, and changes its slots. An epoch ends early when `pausing`
  /// becomes true.
  void run(TrialDispatcher::WorkItem& item, std::size_t worker, const std::atomic<bool>& pausing);

  /// Computes shards of another worker's trial, epoch after epoch. It returns at the end of an epoch if `should_leave`
  /// is true, and at once if `must_stop` is. A failure here fails no trial: the trial's own worker continues alone.
  /// Returns true if the worker may help this trial again, false if another attempt is useless.
  bool help(const engine::HelpTrial& help, const std::atomic<bool>& should_leave, const std::atomic<bool>& must_stop);

  /// Moves the state of an idle trial to the checkpoint store. If the store fails, an ExecutorErrorReport is sent and
  /// the state stays in memory.
  void spill(TrialSlot& slot);

  /// The data and settings that a job trains with. The model is that of the job or, with a frozen part, its trained
  /// part, with the outputs of the frozen part as its data. Errors: those of FrozenParts::head_input_of.
  Result<train::TrainerInput> trainer_input(const engine::Job& job) const;

 private:
  Result<void> try_run(TrialDispatcher::WorkItem& item, std::size_t worker, const std::atomic<bool>& pausing);
  Result<bool> with_memory(TrialSlot& slot, const std::function<Result<void>()>& make);
  Result<bool> admit(const train::LaneGroup& group, TrialSlot& slot);
  std::vector<TrialSlot*> admit_all(const train::LaneGroup& group, const TrialDispatcher::Slots& slots);
  /// Runs tune searches that are due. Returns the lanes that can train their epoch afterwards.
  std::vector<TrialSlot*> run_tune_searches(train::LaneGroup& group, std::vector<TrialSlot*> lanes,
                                            const std::atomic<bool>& pausing);
  Result<void> try_help(const engine::HelpTrial& help, const std::atomic<bool>& should_leave,
                        const std::atomic<bool>& must_stop);
  /// Trains one epoch of the lanes.
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
