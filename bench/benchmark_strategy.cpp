#include "bench/benchmark_strategy.h"

namespace lanista::bench {

Result<std::unique_ptr<search::Strategy>> make_benchmark_strategy(const search::Context& context,
                                                                  const search::StrategyPlugin& plugin,
                                                                  const Options& options, const std::string& rule,
                                                                  const Options& rule_options) {
  LANISTA_ASSIGN(auto sampler, plugin.make(context, options));
  auto halving = sampler->own_halving();
  const auto rules = search::builtin_stopping_rules();
  for (const search::StoppingPlugin& each : rules) {
    if (halving != nullptr || each.name != rule) continue;
    LANISTA_ASSIGN(const Options resolved, resolve_options(rule_options, each.options));
    LANISTA_ASSIGN(halving, each.make({context.goals, context.epochs}, resolved));
  }
  if (halving == nullptr) return Error{Code::kInternal, "there is no stopping rule '" + rule + "'", ""};
  return search::compose(std::move(sampler), std::move(halving));
}

}  // namespace lanista::bench
