#pragma once

#include <memory>
#include <utility>

#include "lanista/search/sampler/second_stage.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search::testing {

/// Returns small_context with goals that are metrics of a study.
inline Context staged_context(std::uint64_t seed, bool mutators = true) {
  Context context = small_context(seed, mutators);
  context.goals = {{true, "val_accuracy"}, {false, "val_loss"}};
  return context;
}

/// Returns a study of the context with a second stage. The last epoch gives a trial's result.
inline study::StudyConfig staged_config(const Context& context, std::int64_t best, std::int64_t end = 2) {
  study::StudyConfig config;
  config.goals = context.goals;
  config.train.length.epochs = context.epochs;
  config.train.measured.keep = study::kKeepLast;
  config.space.params = context.params;
  config.strategy.name = "tpe";
  config.strategy.then = {{"mltuner", {{"params", {{"lr", "log(1e-4, 1)"}}}}}, best, end};
  return config;
}

/// Returns the strategy with its own halving, or else with asha of the given type.
inline std::unique_ptr<Strategy> search_of(const StrategyPlugin& plugin, const Context& context, const char* type) {
  auto sampler = must(plugin.make(context, must(resolve_options(Options::object(), plugin.options))));
  if (plugin.has_own_halving) {
    auto own = sampler->own_halving();
    return compose(std::move(sampler), std::move(own));
  }
  const StoppingPlugin rule = asha_plugin();
  const Options options = must(resolve_options({{"rungs", {1, 2}}, {"eta", 2}, {"type", type}}, rule.options));
  return compose(std::move(sampler), must(rule.make({context.goals, context.epochs}, options)));
}

}  // namespace lanista::search::testing
