#pragma once

#include <memory>

#include "support/search/sampler/test_support.h"

namespace lanista::search::testing {

/// Returns a context with one goal, which the tests invent.
inline Context halved_context(std::uint64_t seed, std::int64_t epochs) {
  Context context = small_context(seed);
  context.epochs = epochs;
  context.goals = {{true, "acc"}};
  return context;
}

/// Returns the halving of a plug-in with these options.
inline Result<std::unique_ptr<Halving>> rule_of(const StoppingPlugin& plugin, const Context& context,
                                                const nlohmann::json& options) {
  return plugin.make({context.goals, context.epochs, context.constraints},
                     must(resolve_options(options, plugin.options)));
}

}  // namespace lanista::search::testing
