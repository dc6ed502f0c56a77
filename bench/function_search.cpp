#include "bench/function_search.h"

#include <limits>
#include <utility>

#include "bench/arms.h"
#include "bench/benchmark_strategy.h"

namespace lanista::bench {
namespace {

/// One search on a test function.
class FunctionSearch {
 public:
  FunctionSearch(const TestFunction& function, search::Strategy& strategy, const FunctionBudget& budget,
                 std::uint64_t seed)
      : function_(function),
        budget_(budget),
        rng_(Rng(seed).split("noise")),
        driver_(strategy, {.slots = budget.slots},
                [this](const SearchDriver::Trial& trial) { return measured(trial); }) {}

  Result<FunctionRun> run() {
    FunctionRun out;
    const double begin = now_seconds();
    for (const std::int64_t mark : budget_.epoch_milestones) {
      LANISTA_TRY(driver_.run_until(mark));
      out.regrets.push_back(chosen_ - function_.minimum);
    }
    out.seconds = now_seconds() - begin;
    out.trials = driver_.num_trials();
    return out;
  }

 private:
  Metrics measured(const SearchDriver::Trial& trial) {
    const space::Sample& sample = trial.proposal.sample;
    const Digest hash = space::hash_sample(sample);
    const double part = static_cast<double>(trial.epoch) / static_cast<double>(function_.epochs);
    const Rng noise = rng_.split(hash.hi ^ hash.lo).split(static_cast<std::uint64_t>(trial.epoch));
    const double loss = function_.measured(sample, part, noise);
    if (std::pair(-trial.epoch, loss) < best_) {
      best_ = {-trial.epoch, loss};
      chosen_ = function_.true_value(sample);
    }
    return {{"loss", loss}};
  }

  const TestFunction& function_;
  const FunctionBudget& budget_;
  Rng rng_;
  std::pair<std::int64_t, double> best_{0, 0};
  double chosen_ = std::numeric_limits<double>::infinity();
  SearchDriver driver_;
};

}  // namespace

Result<FunctionRun> search_function(const TestFunction& function, const search::StrategyPlugin& plugin,
                                    const Options& options, const FunctionBudget& budget, std::uint64_t seed) {
  LANISTA_ASSIGN(const auto strategy, make_benchmark_strategy(function.context(seed), plugin, options, budget.rule));
  return FunctionSearch(function, *strategy, budget, seed).run();
}

}  // namespace lanista::bench
