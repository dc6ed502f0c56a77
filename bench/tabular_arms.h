#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

/// Default number of seeds.
inline constexpr int kTabularSeeds = 200;

/// A strategy with its options.
struct StrategyArm {
  std::string name;
  int seeds_divisor = 1;          ///< Number by which the seeds are divided, for slow strategies.
  search::StrategyPlugin plugin;  ///< The strategy.
  Options options;                ///< Resolved options.
};

/// The strategies of `tabular`, or only the one named `only`. `with_epochs` adds those that need several epochs.
/// Errors: kInvalidArgument for an unknown name, with the known ones.
Result<std::vector<StrategyArm>> strategy_arms(const std::string& only, bool with_epochs);

/// Mean and standard deviation of a sample.
struct MeanAndDeviation {
  double mean = 0, deviation = 0;
};

/// The mean and the standard deviation of `values`. The deviation is 0 for fewer than two values.
MeanAndDeviation mean_of(const std::vector<double>& values);

/// The text that printf would print, cut after 159 bytes.
template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

}  // namespace lanista::bench
