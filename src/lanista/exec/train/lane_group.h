#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/train/batch_buffers.h"
#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// What became of a trial in a step, or a chunk of them.
struct StepResult {
  bool epoch_ended = false;    ///< and was measured
  std::string failure;         ///< why it cannot go on; empty: it had its steps
  std::int64_t first_nonfinite_step = -1;  ///< the first step, of all it has done, whose loss was no finite number; -1: none now
};

/// One program for trials of one key: those that are given to `step` are its lanes in that step. Trials come and go
/// between steps (evict, compact and refill are nothing else), and no trial's numbers depend on the others. Whoever was
/// trained or measured here keeps its seat until others want in and no lane is empty, it leaves or goes, or the group
/// goes: then its state is its own again. One thread at a time, which is also the one for the runs that sit here.
class LaneGroup {
 public:
  /// Room for `lanes` trials with the key of this one. Errors: kInvalidArgument (the model does not fit the data),
  /// kResourceExhausted, kUnimplemented.
  static Result<LaneGroup> create(const TrainerInput& like, std::int64_t lanes);

  std::int64_t lanes() const { return program().lanes(); }
  std::int64_t bytes() const { return program().bytes(); }  ///< with the states that sit here
  std::string describe() const { return program().describe(); }

  /// To be called before so many runs are trained here, in parts of lanes() at most: a device has memory for them then.
  /// Errors: kResourceExhausted.
  Result<void> reserve_lanes(std::size_t runs) { return slots_->program().reserve_lanes(static_cast<std::int64_t>(runs)); }
  /// To be called once before a run is trained here, and again after release() and restore(). Errors:
  /// kResourceExhausted, kDataLoss.
  Result<void> admit(TrialRun& run) const { return run.prepare_state(program()); }

  /// Trains one update of every run, at most lanes() of them. Runs that stand at the same place read one batch. At the
  /// end of an epoch a run is measured. A run that throws is tried once more, alone; then it has failed, and the
  /// others have their step. `results` gets one entry a run.
  void step(std::span<TrialRun* const> runs, std::span<StepResult> results) { advance(runs, 1, results); }
  /// The same for up to `max_updates` updates (TrialRun::stride), but for no more than the first of the runs has to the end of
  /// its epoch, or of its pass over the rows. A run that was tried again alone may have done fewer than the others.
  /// Returns the updates of the chunk.
  /// With `communicator`, others compute shards of one run's steps; what they fail in, it does alone.
  std::int64_t advance(std::span<TrialRun* const> runs, std::int64_t max_updates, std::span<StepResult> results,
                       nn::ShardCommunicator* communicator = nullptr);
  /// Steps of a run that are another one's: with its peers, to the end of an epoch that nobody measures here.
  StepResult train_as_helper(TrialRun& run, std::int64_t max_updates, nn::ShardCommunicator& communicator);

  /// Metrics of a run's present weights on a part, names with `prefix` in front.
  std::map<std::string, double> evaluate(TrialRun& run, data::Part part, const std::string& prefix);

  /// What it would measure if its epoch ended here, on the validation part; its weights and statistics stay. Errors:
  /// kResourceExhausted, kInternal (it threw: what).
  Result<std::map<std::string, double>> measure_copy(const TrialRun& run);

  /// nn::Program::take_step_times.
  std::optional<nn::StepTimes> take_step_times() { return slots_->program().take_step_times(); }

  const nn::Program& program() const { return slots_->program(); }
  bool holds(const TrialRun& run) const { return run.state_.is_in(*slots_); }
  /// All leave their seats but these.
  void keep_only(std::span<TrialRun* const> runs);

 private:
  LaneGroup(const TrainerInput& like, nn::Program program);
  void assign_lanes(std::span<TrialRun* const> runs);
  static std::size_t lane_of(const TrialRun& run) { return static_cast<std::size_t>(run.state_.lane()); }
  void begin_passes(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void select(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void measure_gradient_noise(std::span<TrialRun* const> runs, std::span<StepResult> results);
  nn::LaneGradients& scratch_gradients();
  std::int64_t train_chunk(std::span<TrialRun* const> runs, std::int64_t max_updates, std::span<StepResult> results,
                           nn::ShardCommunicator* communicator);
  nn::StepInput work_of(std::span<TrialRun* const> runs, std::int64_t ahead, std::span<const std::uint8_t> lanes);
  nn::Batch read_batch(const TrialRun& run, std::span<const std::int64_t> rows, BatchBuffers& buffers) const;
  void train(std::span<TrialRun* const> runs, std::int64_t steps, std::span<StepResult> results, nn::ShardCommunicator* communicator);
  void measure(std::span<TrialRun* const> runs, std::span<StepResult> results);
  void recalibrate(TrialRun& run);
  std::vector<std::map<std::string, double>> evaluate(std::span<TrialRun* const> runs, data::Part part,
                                                      const std::string& prefix);

  std::unique_ptr<LaneSlots> slots_;  // stays where it is when the group moves
  data::DataSpec spec_;
  std::int64_t batch_;                 // that the program has room for
  nn::LaneGradients scratch_gradients_;            // of recalibrations and of noise; none until there is one
  std::vector<BatchBuffers> buffers_;  // one for each place in the data at which runs stand
  // Of each lane:
  std::vector<nn::Batch> batches_;
  std::vector<nn::LaneHyper> hyper_;
  std::vector<std::uint8_t> active_;
  std::vector<nn::LaneResult> lane_results_;
  std::vector<std::uint8_t> wants_gradient_norm_;  // its noise is measured in the chunk at hand, which is one update
  std::vector<double> small_squares_;  // of those: square of the gradient of the update's first rows
  // Of each run at hand:
  std::vector<std::size_t> batch_readers_;  // the first that reads its batch
  std::vector<RunState*> states_;
};

}  // namespace lanista::train
