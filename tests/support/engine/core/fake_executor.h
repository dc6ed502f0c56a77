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

/// Behaviour of a FakeExecutor. Measurements depend on model, recipe and epoch only, and with `seed_noise` on the
/// trial's seed. `seed`, `workers` and `checkpoint_one_in` change only the time and order of reports.
struct FakeOptions {
  std::uint64_t seed = 0;            ///< Seed of the order of reports.
  std::int64_t workers = 1;          ///< Trials that report at a time, in random order.
  std::int64_t steps_per_epoch = 2;  ///< Used if `rows` is 0 and the recipe has none.
  std::int64_t rows = 0;             ///< Training rows; above 0 the steps of a pass follow from the trial's batch size.
  std::int64_t checkpoint_one_in = 0;  ///< One epoch in so many is saved; 0: only at a pause.
  /// One trial in so many fails in its second epoch, or in its last one if that is earlier.
  std::int64_t fail_one_in = 0;
  std::int64_t nan_one_in = 0;     ///< One trial in so many diverges in its last epoch but one, or in its first.
  std::int64_t refuse_one_in = 0;  ///< One trial in so many is refused by start().
  double seed_noise = 0;           ///< Largest difference between two seeds.
  std::uint64_t salt = 0;          ///< Changes the weights, as another machine would.
  double blend_gain = 0;           ///< Gain of a large, even blend over the mean of its members.
  VirtualClock* clock = nullptr;   ///< Advanced by 0.1 s with every report.
};

/// An executor that trains nothing, for tests of the engine.
class FakeExecutor final : public Executor {
 public:
  /// Stores its checkpoints in `files`.
  FakeExecutor(FakeOptions options, store::CheckpointStore files);

  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  /// On the validation part the metrics of one trial are those of its measurements. On the test part they are a
  /// different function of the trial.
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override;

  /// Number of epochs that all trials have run.
  std::int64_t epochs_run() const { return epochs_run_; }
  /// Checkpoints from which jobs resumed, in order of start.
  const std::vector<std::string>& resumed_from() const { return resumed_from_; }
  /// States of other trials from which forked jobs continued, in order of start.
  const std::vector<std::string>& forked_from() const { return forked_from_; }

 private:
  struct Trial {
    Job job;
    Digest identity;  ///< Hash of model and recipe.
    std::int64_t allowed = 0;
    std::vector<study::Measurement> completed;
    std::string ancestry;  ///< Forks of the trial and of their parents; part of what it measures afterwards.
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
  std::int64_t epochs_run_ = 0;
  std::vector<std::string> resumed_from_, forked_from_;
};

}  // namespace lanista::engine
