#pragma once

#include <memory>
#include <string>

#include "lanista/base/result.h"
#include "lanista/engine/forecast/search_driver.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

using engine::SearchDriver;
using Metrics = SearchDriver::Metrics;

/// A strategy with the halving that its sampler has of its own, or the rule of this name. Errors: the sampler's and the
/// rule's; kInternal (there is no such rule).
Result<std::unique_ptr<strategy::Strategy>> make_benchmark_strategy(const strategy::Context& context,
                                                                    const strategy::StrategyPlugin& plugin,
                                                                    const Options& options, const std::string& rule,
                                                                    const Options& rule_options = Options::object());

}  // namespace lanista::bench
