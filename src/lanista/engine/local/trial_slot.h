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
#include "lanista/engine/local/spilled_state.h"
#include "lanista/engine/local/dispatch.h"
#include "lanista/search/study/trial.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/exec/train/data_parallel_session.h"

namespace lanista::runtime {

/// A trial in training, as the worker that has it in hand sees it. Who holds the slot owns all of it: a TrialDispatcher
/// gives it to one worker at a time, so nothing here needs a guard; a state that is seated is under the rule of GroupPool.
struct TrialSlot {
  engine::Job job;
  std::optional<train::TrialRun> run;                ///< absent: not begun
  std::optional<train::TrainerState> state;          ///< it goes on from
  std::shared_ptr<const train::StartWeights> start;  ///< it begins with; null: random values, or it goes on
  std::vector<train::AlternativeStartWeights> alternative_starts;             ///< that race the start; empty: it goes on, or there is no race
  std::optional<SpilledState> spilled;                 ///< what `run` goes on from, while it has no memory
  std::int64_t epochs_done = 0;
  std::int64_t saved_step = 0;
  double saved_at = 0;              ///< clock seconds
  study::SpanCosts costs;           ///< of the span that it is in, or that comes
  std::shared_ptr<const pipeline::TimedStep> timed;  ///< during it, where its program was; or null
  bool finished = false;            ///< finished, parked or failed: nothing more to do
  Digest key;                       ///< of the programs it can be a lane of
  TrialSignals* signals = nullptr;  ///< its ticket's
  std::unique_ptr<train::DataParallelLeader> leader;  ///< where helpers come, if there may be any

  /// What is told of it when it is given back.
  Progress progress() const {
    return {.epochs_done = epochs_done,
            .is_over = finished,
            .is_unsaved = run.has_value() && run->step_count() != saved_step,
            .holds_state = run.has_value() && run->holds_state()};
  }
};

/// How much the loss would miss the units of a parent with these weights (train::score_units).
using ScoreUnits =
    std::function<Result<engine::UnitScores>(const graph::Graph& parent, std::span<const Tensor> weights)>;
/// The same of an input that is the job's, as workers compute.
ScoreUnits unit_scorer_of(train::TrainerInput input);

/// The weights that a trial starts with, of the state that its start names, through the plan that the job has for it,
/// or, where the loss has to say which units stay, through the one that `score` leads to; a parent that cannot be asked
/// on these data has its first units taken. Errors: kNotFound and kDataLoss (the state is lost), kInvalidArgument (its
/// plan; nobody scores), kResourceExhausted.
Result<std::shared_ptr<const train::StartWeights>> read_start(const store::CheckpointStore& files,
                                                              const engine::Job& job, const graph::OpTable& ops,
                                                              const ScoreUnits& score = {});

/// What races the start of a job: its rivals, and random values behind them. Errors: as of read_start.
Result<std::vector<train::AlternativeStartWeights>> read_alternatives(const store::CheckpointStore& files, const engine::Job& job,
                                                   const graph::OpTable& ops, const ScoreUnits& score = {});
/// The same without their weights, which whoever is behind the race does not need.
std::vector<train::AlternativeStartWeights> alternatives_of(const engine::Job& job);

/// Hash of names, shapes and bytes of all tensors, of those that are kept behind those of the state.
Digest state_hash(const train::TrainerState& state);

}  // namespace lanista::runtime
