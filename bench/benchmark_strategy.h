#pragma once

#include <memory>
#include <string>

#include "lanista/base/result.h"
#include "lanista/engine/forecast/search_driver.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

using engine::SearchDriver;

/// Values by metric name.
using Metrics = SearchDriver::Metrics;

/// Makes a strategy from a sampler and the stopping rule `rule`.
///
/// A sampler with its own halving uses that one, and `rule` is ignored. `options` are resolved, `rule_options` are not.
/// Errors: those of the sampler and of the rule; kInternal for an unknown rule.
Result<std::unique_ptr<search::Strategy>> make_benchmark_strategy(const search::Context& context,
                                                                  const search::StrategyPlugin& plugin,
                                                                  const Options& options, const std::string& rule,
                                                                  const Options& rule_options = Options::object());

}  // namespace lanista::bench
