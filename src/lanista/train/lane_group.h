#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/data/dataset.h"
#include "lanista/nn/program.h"
#include "lanista/train/batch_buffers.h"
#include "lanista/train/trial_run.h"

namespace lanista::train {

/// What became of a trial in a step.
struct StepEnd {
  bool epoch_ended = false;  ///< and was measured
  std::string failure;       ///< why it cannot go on; empty: it had its step
};

/// One program for trials of one key: those that are given to `step` are its lanes in that step. Trials come and go
/// between steps (evict, compact and refill are nothing else), and no trial's numbers depend on the others. One thread
/// at a time.
class LaneGroup {
 public:
  /// Room for `lanes` trials with the key of this one. Errors: kInvalidArgument (the model does not fit the data),
  /// kResourceExhausted, kUnimplemented.
  static Result<LaneGroup> create(const TrainerInput& like, std::int64_t lanes);

  std::int64_t lanes() const { return program_.lanes(); }
  std::int64_t bytes() const { return program_.bytes(); }
  std::string describe() const { return program_.describe(); }

  /// To be called once before a run is trained here, and again after release() and restore(). Errors:
  /// kResourceExhausted, kDataLoss.
  Result<void> admit(TrialRun& run) const { return run.settle(program_); }

  /// Trains one step of every run, at most lanes() of them. Runs that stand at the same place read one batch. At the
  /// end of an epoch a run is measured. A run that throws is tried once more, alone; then it has failed, and the
  /// others have their step. `ends` gets one entry a run.
  void step(std::span<TrialRun* const> runs, std::span<StepEnd> ends);

  /// Metrics of a run's present weights on a part, names with `prefix` in front.
  std::map<std::string, double> evaluate(TrialRun& run, data::Part part, const std::string& prefix);

 private:
  LaneGroup(const TrainerInput& like, nn::Program program);
  void read_batches(std::span<TrialRun* const> runs, std::span<StepEnd> ends);
  nn::Batch read_batch(const TrialRun& run, BatchBuffers& buffers) const;
  void train(std::span<TrialRun* const> runs, std::span<StepEnd> ends);
  void measure(std::span<TrialRun* const> runs, std::span<StepEnd> ends);
  std::vector<std::map<std::string, double>> evaluate(std::span<TrialRun* const> runs, data::Part part,
                                                      const std::string& prefix);

  nn::Program program_;
  data::DataSpec spec_;
  std::int64_t batch_;
  std::vector<BatchBuffers> buffers_;  // one for each place in the data at which runs stand
  std::vector<nn::Batch> batches_;     // of each lane
  std::vector<nn::LaneHyper> hyper_;
  std::vector<std::uint8_t> active_;
  std::vector<double> losses_;
  std::vector<double> predictions_;
};

}  // namespace lanista::train
