#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bench/mltuner_tasks.h"
#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/trial.h"

namespace lanista::bench {

inline constexpr std::int64_t kTuneEpochs = 27;  ///< Epochs of a whole training.

/// The cost of a search until it reached the target or the cap.
struct TuningCost {
  double steps = 0, seconds = 0;  ///< Training steps with all branches, and wall time.
  bool reached = false;           ///< True if the target was reached.
  bool is_capped = false;         ///< True if the cap of steps was reached.
};

/// A strategy with its options.
struct StrategySettings {
  std::string sampler;                       ///< Name of the strategy.
  std::string rule = "none";                 ///< Name of the stopping rule.
  std::int64_t epochs = kTuneEpochs;         ///< Epochs of a whole training.
  Options rule_options = Options::object();  ///< Options of the stopping rule.
  Options options = Options::object();       ///< Options of the strategy.
  std::int64_t slots = 1;                    ///< Trials that train at a time.
};

/// Searches that train a task until its target is reached. Errors: those of trainings and strategies.
class TuningRuns {
 public:
  /// Both arguments must outlive this.
  TuningRuns(const TuneTask& task, const graph::OpTable& ops) : task_(task), ops_(ops) {}

  /// Trains self-tuning trials one after the other, as strategy mltuner does.
  ///
  /// `options` are those of train.tune's mltuner, and `end` of the strategy: a trial ends after so many epochs without
  /// an improvement. With `end` 0 there is only one trial.
  Result<TuningCost> run_self_tuning(Options options, std::uint64_t seed) const;
  /// Runs a search of whole trainings by a strategy.
  Result<TuningCost> run_strategy(const StrategySettings& settings, std::uint64_t seed) const;
  /// The costs of the best setting of a grid, one for each seed from `first` on. Empty if no setting reaches the target
  /// with every seed. That depends on the machine, because targets were chosen by trainings of one numeric class.
  ///
  /// Best is the setting with the least geometric mean of steps. A setting is dropped if one seed needs more than 2.5
  /// times the best mean so far.
  Result<std::vector<TuningCost>> oracle(std::uint64_t first, int seeds) const;
  /// The best measurement of whole trainings over the settings of the grid with momentum 0.9, in `steps`.
  ///
  /// The targets of tasks were chosen by it.
  Result<TuningCost> best_value(std::uint64_t seed) const;

 private:
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();
  /// Limits of a training.
  struct Bounds {
    std::int64_t lanes = 1;     ///< Lanes of its program.
    std::int64_t epochs = 0;    ///< Most epochs that the steps of the whole search may be worth.
    double steps = kNoBound;    ///< Most steps of the whole search.
    std::int64_t patience = 0;  ///< Epochs without an improvement after which it ends; 0: no such end.
  };
  std::vector<study::Recipe> grid() const;
  Result<TuningCost> train_fixed(study::Recipe recipe, std::uint64_t seed, std::int64_t epochs,
                                 double most_steps = kNoBound) const;
  /// Runs one more training within the bounds and adds its cost to `cost`.
  Result<void> continue_training(TuningCost& cost, study::Recipe recipe, std::uint64_t seed,
                                 const Bounds& bounds) const;

  const TuneTask& task_;
  const graph::OpTable& ops_;
};

}  // namespace lanista::bench
