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

inline constexpr std::int64_t kTuneEpochs = 27;  ///< of a whole training

/// What a search cost until it got there, or gave up.
struct TuningCost {
  double steps = 0, seconds = 0;
  bool reached = false;
  bool is_capped = false;
};

/// How a strategy searches.
struct StrategySettings {
  std::string sampler;
  std::string rule = "none";
  std::int64_t epochs = kTuneEpochs;
  Options rule_options = Options::object();
  Options options = Options::object();
  std::int64_t slots = 1;
};

/// Trainings of a task until its target is reached. Errors: those of trainings and strategies.
class TuningRuns {
 public:
  /// Both outlive it.
  TuningRuns(const TuneTask& task, const graph::OpTable& ops) : task_(task), ops_(ops) {}

  /// Trials that tune themselves under options of train.tune's mltuner, one after the other, as strategy mltuner trains
  /// them; `end` among them is that strategy's, 0: one trial that never ends.
  Result<TuningCost> run_self_tuning(Options options, std::uint64_t seed) const;
  /// Whole trainings, one after the other, as a strategy says.
  Result<TuningCost> run_strategy(const StrategySettings& settings, std::uint64_t seed) const;
  /// The setting of a grid by which these seeds together get there first: what each costs. One that in any of them
  /// takes far longer than the best so far is left.
  Result<std::vector<TuningCost>> oracle(std::uint64_t first, int seeds) const;
  /// The best that settings with usual momentum measure in a whole training: targets are chosen by it.
  Result<TuningCost> best_value(std::uint64_t seed) const;

 private:
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();
  /// Of a training.
  struct Bounds {
    std::int64_t lanes = 1;
    std::int64_t epochs = 0;    ///< that all steps so far are worth
    double steps = kNoBound;    ///< so far
    std::int64_t patience = 0;  ///< epochs without an improvement; 0: it never ends for that
  };
  std::vector<study::Recipe> grid() const;
  Result<TuningCost> train_fixed(study::Recipe recipe, std::uint64_t seed, std::int64_t epochs,
                                 double most_steps = kNoBound) const;
  /// A training more, within what is left of these bounds.
  Result<void> continue_training(TuningCost& cost, study::Recipe recipe, std::uint64_t seed,
                                 const Bounds& bounds) const;

  const TuneTask& task_;
  const graph::OpTable& ops_;
};

}  // namespace lanista::bench
