#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

// What the forms of `tabular` share.

inline constexpr int kTabularSeeds = 200;

/// A strategy, and what it is run with.
struct StrategyArm {
  std::string name;
  int seeds_divisor = 1;  ///< how many times fewer seeds
  strategy::StrategyPlugin plugin;
  Options options;  ///< resolved
};

/// All that have something to learn from choices, or the one of them that is asked for; `with_epochs`: those too whose
/// definition is about epochs. Errors: kInvalidArgument.
Result<std::vector<StrategyArm>> strategy_arms(const std::string& only, bool with_epochs);

struct MeanAndDeviation {
  double mean = 0, deviation = 0;
};
MeanAndDeviation mean_of(const std::vector<double>& values);

/// As printf would; what is longer than 159 bytes is cut.
template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

}  // namespace lanista::bench
