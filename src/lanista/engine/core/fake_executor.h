#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/executor.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// How a FakeExecutor behaves. What a trial measures depends on its model, its recipe and the epoch alone (and with
/// `seed_noise` on its seed); `seed`, `workers` and `checkpoint_one_in` change only when and in which order things arrive.
struct FakeOptions {
  std::uint64_t seed = 0;
  std::int64_t workers = 1;            ///< reports come from this many trials at a time, in random order
  std::int64_t steps_per_epoch = 2;    ///< where rows are of no matter and recipes do not say
  std::int64_t rows = 0;             ///< > 0: of training; a pass has the steps that the trial's batch makes of them
  std::int64_t checkpoint_one_in = 0;  ///< of epochs; 0: only at a pause
  std::int64_t fail_one_in = 0;        ///< of trials, at their second epoch (or the last before)
  std::int64_t nan_one_in = 0;         ///< of trials, at their last epoch but one (or the first)
  std::int64_t refuse_one_in = 0;      ///< of trials, at start
  double seed_noise = 0;                     ///< by how much two seeds may differ
  std::uint64_t salt = 0;              ///< of the weights: another machine has others
  double blend_gain = 0;  ///< how much better than its members' mean a blend of many would be; the more even, the better
  VirtualClock* clock = nullptr;       ///< advanced by a tenth of a second at every report
};

/// An executor that trains nothing, for tests of all that stands above executors.
class FakeExecutor final : public Executor {
 public:
  FakeExecutor(FakeOptions options, store::CheckpointStore files);

  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  /// Of one trial on the validation part what its measurements say, and on the test part a number of its own.
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override;

  std::int64_t blends_measured() const { return blends_measured_; }
  std::int64_t epochs_run() const { return epochs_run_; }
  const std::vector<std::string>& resumed_from() const { return resumed_from_; }  ///< checkpoints, in order of start
  const std::vector<std::string>& forked_from() const { return forked_from_; }  ///< states of others, in order of start
  const std::vector<std::string>& cloned_from() const { return cloned_from_; }    ///< states, in order of start

 private:
  struct Trial {
    Job job;
    Digest identity;  ///< of model and recipe
    std::int64_t allowed = 0;
    std::vector<study::Measurement> completed;
    std::string ancestry;  ///< whom it was forked from, and whom those were: part of what it measures from then on
    std::optional<Finish> finish;
    bool is_pause_requested = false;
    std::int64_t epochs() const { return static_cast<std::int64_t>(completed.size()); }
  };
  static std::map<std::string, std::string> facts_of(const Trial& trial);
  bool is_runnable(const Trial& trial) const;
  void advance(Trial& trial);
  void end(Trial& trial);
  void pause_trial(Trial& trial);
  Digest state_hash(const Trial& trial, std::int64_t epoch) const;
  Result<std::string> store_weights(const Trial& trial);
  study::Measurement measure(const Trial& trial, std::int64_t epoch) const;
  Result<std::string> store_checkpoint(const Trial& trial);
  void pause();
  bool is_selected(const Trial& trial, std::int64_t one_in, std::uint64_t salt) const;

  FakeOptions options_;
  store::CheckpointStore files_;
  Rng rng_;
  std::map<TrialId, Trial> trials_;
  std::deque<Report> pending_reports_;
  bool is_pausing_ = false;
  std::int64_t epochs_run_ = 0, blends_measured_ = 0;
  std::vector<std::string> resumed_from_, cloned_from_, forked_from_;
};

}  // namespace lanista::engine
