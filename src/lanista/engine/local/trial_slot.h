#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/engine/local/dispatch.h"
#include "lanista/engine/local/spilled_state.h"
#include "lanista/exec/train/data_parallel_session.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/search/study/trial.h"

namespace lanista::runtime {

/// A trial in training, with everything that its worker needs. The holder of the slot owns all of it: a TrialDispatcher
/// gives it to one worker at a time. A state in a lane is under the rule of GroupPool.
struct TrialSlot {
  engine::Job job;                           ///< The job, as the executor received it.
  std::optional<train::TrialRun> run;        ///< Its training; absent: no worker has begun it.
  std::optional<train::TrainerState> state;  ///< State to resume from, until `run` begins; absent: it begins anew.
  std::shared_ptr<const train::StartWeights> start;  ///< First weights; null: random values, or it resumes.
  std::optional<SpilledState> spilled;               ///< State of `run` while it is spilled; absent: it is in memory.
  std::int64_t epochs_done = 0;                      ///< Number of complete epochs.
  /// Number of steps at the last attempt to store a checkpoint, or of the state that it resumed from; 0: neither.
  std::int64_t saved_step = 0;
  /// Clock reading, in seconds, of the last attempt to store a checkpoint; before the first one, of the begin of `run`.
  double saved_at = 0;
  study::SpanCosts costs;                             ///< Seconds by activity in the current or next span.
  std::shared_ptr<const pipeline::TimedStep> timed;   ///< Timed pipeline step for the report of the span; null: none.
  bool finished = false;                              ///< True: finished, paused or failed, so no work remains.
  Digest key;                                         ///< Key of the programs in which it can be a lane.
  TrialSignals* signals = nullptr;                    ///< Signals of its DispatchEntry, which owns them.
  std::unique_ptr<train::DataParallelLeader> leader;  ///< Shares its steps with helpers; null: it has none.

  /// The progress that a worker reports when it returns the slot: the complete epochs, and whether the trial is over,
  /// has steps without a checkpoint, and has its state in memory.
  Progress progress() const {
    return {.epochs_done = epochs_done,
            .is_over = finished,
            .is_unsaved = run.has_value() && run->progress().step_count() != saved_step,
            .holds_state = run.has_value() && run->state().is_in_memory()};
  }
};

/// Importance of each unit of a parent with these weights, measured by the loss (train::score_units).
using ScoreUnits =
    std::function<Result<engine::UnitScores>(const graph::Graph& parent, std::span<const Tensor> weights)>;
/// A function that scores units with the data, settings and backend of `input`; its model is replaced by the parent.
ScoreUnits unit_scorer_of(train::TrainerInput input);

/// The first weights of a trial: the state that Job::start names, which must be set, through the job's transfer plan.
/// If the loss selects units (Job::parent), `score` gives their importance. If that fails on these data, Job::transfer
/// is used unchanged.
///
/// Errors: kNotFound and kDataLoss (the state is lost), kInvalidArgument (the plan, or no `score`), kResourceExhausted
/// (memory).
Result<std::shared_ptr<const train::StartWeights>> read_start(const store::CheckpointStore& files,
                                                              const engine::Job& job, const graph::OpTable& ops,
                                                              const ScoreUnits& score = {});

/// Hash of names, shapes and bytes of all tensors: those of the state, then the selected weights of an earlier epoch.
Digest state_hash(const train::TrainerState& state);

}  // namespace lanista::runtime
