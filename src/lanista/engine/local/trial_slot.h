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

/// A trial in training, from the view of its worker. The holder of the slot owns everything in it: a TrialDispatcher
/// gives it to one worker at a time. A state in a lane is under the rule of GroupPool.
struct TrialSlot {
  engine::Job job;                                   ///< The job.
  std::optional<train::TrialRun> run;                ///< Absent: not begun.
  std::optional<train::TrainerState> state;          ///< State to resume from.
  std::shared_ptr<const train::StartWeights> start;  ///< First weights; null: random values, or it resumes.
  /// Other starts of its start race. Empty: no race, or it resumes.
  std::vector<train::AlternativeStartWeights> alternative_starts;
  std::optional<SpilledState> spilled;                ///< State of `run` while it is not in memory.
  std::int64_t epochs_done = 0;                       ///< Complete epochs.
  std::int64_t saved_step = 0;                        ///< Steps in the newest checkpoint.
  double saved_at = 0;                                ///< Clock seconds of the newest checkpoint.
  study::SpanCosts costs;                             ///< Costs of the current or next span.
  std::shared_ptr<const pipeline::TimedStep> timed;   ///< Timed pipeline step of the span, or null.
  bool finished = false;                              ///< Finished, paused or failed: no work remains.
  Digest key;                                         ///< Key of the programs in which it can be a lane.
  TrialSignals* signals = nullptr;                    ///< Signals of its DispatchEntry.
  std::unique_ptr<train::DataParallelLeader> leader;  ///< Accepts helpers, if it may have any.

  /// The progress that a worker reports when it returns the slot.
  Progress progress() const {
    return {.epochs_done = epochs_done,
            .is_over = finished,
            .is_unsaved = run.has_value() && run->step_count() != saved_step,
            .holds_state = run.has_value() && run->holds_state()};
  }
};

/// Importance of each unit of a parent with these weights, by the loss (train::score_units).
using ScoreUnits =
    std::function<Result<engine::UnitScores>(const graph::Graph& parent, std::span<const Tensor> weights)>;
/// Scores units with the data and settings of a job, on the backend of the workers.
ScoreUnits unit_scorer_of(train::TrainerInput input);

/// The first weights of a trial: the state that its start names, through the job's transfer plan. If the loss selects
/// units (Job::parent), `score` gives their importance; if that fails on these data, the first units are used. Errors:
/// kNotFound and kDataLoss (the state is lost), kInvalidArgument (the plan, or no `score`), kResourceExhausted.
Result<std::shared_ptr<const train::StartWeights>> read_start(const store::CheckpointStore& files,
                                                              const engine::Job& job, const graph::OpTable& ops,
                                                              const ScoreUnits& score = {});

/// The alternatives of a job's start race: its start candidates, then random values. Errors: those of read_start.
Result<std::vector<train::AlternativeStartWeights>> read_alternatives(const store::CheckpointStore& files,
                                                                      const engine::Job& job, const graph::OpTable& ops,
                                                                      const ScoreUnits& score = {});
/// The alternatives of a start race without their weights, for a trial with a completed race.
std::vector<train::AlternativeStartWeights> alternatives_of(const engine::Job& job);

/// Hash of names, shapes and bytes of all tensors: those of the state, then the selected weights.
Digest state_hash(const train::TrainerState& state);

}  // namespace lanista::runtime
