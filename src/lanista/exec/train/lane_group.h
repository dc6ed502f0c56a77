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

/// The result of one trial after a step or a chunk of steps.
struct StepResult {
  bool epoch_ended = false;  ///< Whether an epoch ended and was measured.
  std::string failure;       ///< The reason why it cannot continue. Empty: it had its steps.
  /// The first step of the trial with a NaN or infinite loss, if in this chunk; -1: none.
  std::int64_t first_nonfinite_step = -1;
};

/// An executable that several trials of one lane_group_key share.
///
/// The trials of a call are its lanes in that step. Trials may join and leave between steps, and the bits of a trial do
/// not depend on the others. A trial that was trained or measured here keeps its lane until another trial needs it,
/// until it is released, or until the group ends. One thread at a time, which must also be the one that uses the runs
/// in lanes.
class LaneGroup {
 public:
  /// Compiles a program with `lanes` lanes for trials with the key of `like`. Errors: kInvalidArgument (the model does
  /// not fit the data), kResourceExhausted, kUnimplemented.
  static Result<LaneGroup> create(const TrainerInput& like, std::int64_t lanes);

  std::int64_t lanes() const { return program().lanes(); }  ///< number of lanes
  std::int64_t bytes() const { return program().bytes(); }  ///< bytes, including the states in lanes
  std::string describe() const { return program().describe(); }

  /// Reserves device memory for `runs` runs. Call it before they train here, at most lanes() at a time. Errors:
  /// kResourceExhausted.
  Result<void> reserve_lanes(std::size_t runs) {
    return slots_->program().reserve_lanes(static_cast<std::int64_t>(runs));
  }
  /// Prepares the state of a run. Call it once before the run trains here, and again after release() and restore().
  /// Errors: kResourceExhausted, kDataLoss.
  Result<void> admit(TrialRun& run) const { return run.admit(program()); }

  /// Trains one update of every run, at most lanes() of them.
  ///
  /// Runs with the same data position share a batch. At the end of an epoch a run is measured. A run that throws is
  /// tried once more alone, and then fails; the others have their step. `results` has one entry a run.
  void step(std::span<TrialRun* const> runs, std::span<StepResult> results) { advance(runs, 1, results); }
  /// Trains up to `max_updates` updates of every run (UpdatePlan), and returns their number.
  ///
  /// The chunk ends where the first run ends its epoch or its pass over the rows. A run that was tried again alone may
  /// have done fewer updates. With `communicator`, other ranks compute shards of one run's steps. If they fail, the run
  /// continues alone.
  std::int64_t advance(std::span<TrialRun* const> runs, std::int64_t max_updates, std::span<StepResult> results,
                       nn::ShardCommunicator* communicator = nullptr);
  /// Trains a copy of another process's run as its helper, up to the end of the epoch, which is not measured here.
  StepResult train_as_helper(TrialRun& run, std::int64_t max_updates, nn::ShardCommunicator& communicator);

  /// Returns metrics of a run's current weights on a part, names with `prefix` in front.
  std::map<std::string, double> evaluate(TrialRun& run, data::Part part, const std::string& prefix);

  /// Returns the validation metrics as if the run's epoch ended now. Its weights and statistics stay. Errors:
  /// kResourceExhausted, kInternal (text of an exception).
  Result<std::map<std::string, double>> measure_copy(const TrialRun& run);

  /// nn::Program::take_step_times.
  std::optional<nn::StepTimes> take_step_times() { return slots_->program().take_step_times(); }

  const nn::Program& program() const { return slots_->program(); }
  /// Whether the run's state is in a lane of this group.
  bool holds(const TrialRun& run) const { return run.state().run_state().is_in(*slots_); }
  /// Moves the states of all runs but these out of their lanes, to host memory.
  void keep_only(std::span<TrialRun* const> runs);

 private:
  LaneGroup(const TrainerInput& like, nn::Program program);
  void assign_lanes(std::span<TrialRun* const> runs);
  static std::size_t lane_of(const TrialRun& run) { return static_cast<std::size_t>(run.state().run_state().lane()); }
  void begin_passes(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void select(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void measure_gradient_noise(std::span<TrialRun* const> runs, std::span<StepResult> results);
  nn::LaneGradients& scratch_gradients();
  std::int64_t train_chunk(std::span<TrialRun* const> runs, std::int64_t max_updates, std::span<StepResult> results,
                           nn::ShardCommunicator* communicator);
  nn::StepInput work_of(std::span<TrialRun* const> runs, std::int64_t ahead, std::span<const std::uint8_t> lanes);
  nn::Batch read_batch(const TrialRun& run, std::span<const std::int64_t> rows, BatchBuffers& buffers) const;
  void train(std::span<TrialRun* const> runs, std::int64_t steps, std::span<StepResult> results,
             nn::ShardCommunicator* communicator);
  void measure(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void recalibrate(TrialRun& run);
  std::vector<std::map<std::string, double>> evaluate(std::span<TrialRun* const> runs, data::Part part,
                                                      const std::string& prefix);

  std::unique_ptr<LaneSlots> slots_;  // keeps its address when the group moves
  data::DataSpec spec_;
  std::int64_t batch_;                   // most samples of a batch
  nn::LaneGradients scratch_gradients_;  // for recalibration and gradient noise; made when needed
  std::vector<BatchBuffers> buffers_;    // one for each data position of a step
  // Of each lane:
  std::vector<nn::Batch> batches_;
  std::vector<nn::LaneHyper> hyper_;
  std::vector<std::uint8_t> active_;
  std::vector<nn::LaneResult> lane_results_;
  std::vector<std::uint8_t> needs_gradient_norm_;  // whether the current update is measured for gradient noise
  std::vector<double> small_squares_;  // of those: squared norm of the gradient over the update's first rows
  // Of each current run:
  std::vector<std::size_t> batch_readers_;  // index of the first run with the same batch
  std::vector<RunState*> states_;
};

}  // namespace lanista::train
