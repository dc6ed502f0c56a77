#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/train/batch_buffers.h"
#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/io/data/dataset.h"

namespace lanista::train {

/// The result of one trial after a step or a chunk of steps (LaneGroup).
struct StepResult {
  bool epoch_ended = false;  ///< True: the last step ended an epoch, and the epoch was measured.
  std::string failure;       ///< Reason for people why the trial cannot continue; empty: it did its steps.
  /// The number of the trial's first step in this chunk with a NaN or infinite loss, counted from 0 over the whole
  /// trial. -1: none.
  std::int64_t first_nonfinite_step = -1;
};

/// An executable that several trials of one lane_group_key share.
///
/// The trials of a call are its lanes in that step. Trials may join and leave between steps, and the bits of a trial do
/// not depend on the others. A trial that was trained or measured here keeps its lane until another trial needs it,
/// until it is released, or until the group ends. One thread at a time, which must also be the one that uses the runs
/// in its lanes.
class LaneGroup {
 public:
  /// Compiles a program with `lanes` lanes for trials with the key of `like` (lane_group_key). Errors: kInvalidArgument
  /// (the model does not fit the data or uses later tokens, or a program option is out of range), kResourceExhausted,
  /// kUnimplemented (an operator without a kernel).
  static Result<LaneGroup> create(const TrainerInput& like, std::int64_t lanes);

  std::int64_t lanes() const { return program().lanes(); }  ///< Number of lanes, from 1.
  /// Bytes of the program, including the states in its lanes.
  std::int64_t bytes() const { return program().bytes(); }
  /// Text for people: the program, one line a kernel call.
  std::string describe() const { return program().describe(); }

  /// Reserves device memory for the states of `runs` runs, at most lanes(). Call it before they train here. Errors:
  /// kResourceExhausted.
  Result<void> reserve_lanes(std::size_t runs) {
    return slots_->program().reserve_lanes(static_cast<std::int64_t>(runs));
  }
  /// Makes the state of a run for this group's program. Call it once before the run trains here, and again after
  /// release() and restore(). Errors: kResourceExhausted; kDataLoss (restored tensors do not fit), kInvalidArgument
  /// (start weights do not fit), kInternal (the run has steps but no state).
  Result<void> admit(TrialRun& run) const { return run.admit(program()); }

  /// Trains one update of every run; there are at most lanes() runs, all admitted.
  ///
  /// A run that selects examples may count a step without an update. Runs with the same data position share a batch. At
  /// the end of an epoch a run is measured on the validation part. If an update or a measurement throws, the run tries
  /// it once more alone, and then fails. If its rows cannot be read or selected, it fails at once. The others have
  /// their step. `results` has one entry a run, in the same order, and is overwritten.
  void step(std::span<TrialRun* const> runs, std::span<StepResult> results) { advance(runs, 1, results); }
  /// Trains up to `max_updates` updates (UpdatePlan) of every run, and returns the number of updates of the chunk.
  ///
  /// The chunk ends where the first run ends its epoch, its pass over the rows or its setting. It is one update if a
  /// run selects examples. A run that failed or was tried again alone may have done fewer updates. With `communicator`,
  /// other ranks compute shards of the steps, if exactly one run trains; null: none. If they fail, the run continues
  /// alone. `results` has one entry a run, in the same order, and is overwritten.
  std::int64_t advance(std::span<TrialRun* const> runs, std::int64_t max_updates, std::span<StepResult> results,
                       program::ShardCommunicator* communicator = nullptr);
  /// Trains a copy of another process's run as its helper, for one chunk of up to `max_updates` updates (as advance()).
  /// The epoch is not measured here, also if the result has epoch_ended.
  StepResult train_as_helper(TrialRun& run, std::int64_t max_updates, program::ShardCommunicator& communicator);

  /// Returns loss and metrics of an admitted run's current weights on a part by name, with `prefix` in front. The run
  /// gets a lane, if it has none, and keeps it. Throws what the program throws.
  std::map<std::string, double> evaluate(TrialRun& run, data::Part part, const std::string& prefix);

  /// Returns loss and metrics ("val_...") of a copy of an admitted run on the validation part. If the run selects
  /// examples and has `recalibrate`, the copy's running statistics are renewed first. The run's weights and statistics
  /// stay. Errors: kResourceExhausted; kInternal (an exception, with its text).
  Result<std::map<std::string, double>> measure_copy(const TrialRun& run);

  /// Returns measured times of a pipeline step, once: program::Program::take_step_times.
  std::optional<program::StepTimes> take_step_times() { return slots_->program().take_step_times(); }

  /// The program of the group, valid as long as the group.
  const program::Program& program() const { return slots_->program(); }
  /// True if the run's state is in a lane of this group.
  bool holds(const TrialRun& run) const { return run.state().run_state().is_in(*slots_); }
  /// Moves the states in the lanes of this group, except those of `runs`, to host memory.
  void keep_only(std::span<TrialRun* const> runs);

 private:
  LaneGroup(const TrainerInput& like, program::Program program);
  void assign_lanes(std::span<TrialRun* const> runs);
  static std::size_t lane_of(const TrialRun& run) { return static_cast<std::size_t>(run.state().run_state().lane()); }
  void begin_passes(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void select(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void measure_gradient_noise(std::span<TrialRun* const> runs, std::span<StepResult> results);
  program::LaneGradients& scratch_gradients();
  std::int64_t train_chunk(std::span<TrialRun* const> runs, std::int64_t max_updates, std::span<StepResult> results,
                           program::ShardCommunicator* communicator);
  program::StepInput work_of(std::span<TrialRun* const> runs, std::int64_t ahead, std::span<const std::uint8_t> lanes);
  program::Batch read_batch(const TrialRun& run, std::span<const std::int64_t> rows, BatchBuffers& buffers) const;
  void train(std::span<TrialRun* const> runs, std::int64_t steps, std::span<StepResult> results,
             program::ShardCommunicator* communicator);
  void measure(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void recalibrate(TrialRun& run);
  std::vector<std::map<std::string, double>> evaluate(std::span<TrialRun* const> runs, data::Part part,
                                                      const std::string& prefix);

  std::unique_ptr<LaneSlots> slots_;  // keeps its address when the group moves
  data::DataSpec spec_;
  std::int64_t batch_;                        // most samples of a batch
  program::LaneGradients scratch_gradients_;  // for recalibration and gradient noise; made when needed
  std::vector<BatchBuffers> buffers_;         // one for each data position of a step
  // Of each lane:
  std::vector<program::Batch> batches_;
  std::vector<program::LaneHyper> hyper_;
  std::vector<std::uint8_t> active_;
  std::vector<program::LaneResult> lane_results_;
  std::vector<std::uint8_t> needs_gradient_norm_;  // whether the current update is measured for gradient noise
  std::vector<double> small_squares_;  // of those: squared norm of the gradient over the update's first rows
  // Of each current run:
  std::vector<std::size_t> batch_readers_;  // index of the first run with the same batch
  std::vector<RunState*> states_;
};

}  // namespace lanista::train
