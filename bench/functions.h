#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

/// A function whose minimum is known, as something to train: what a configuration measures after an epoch, and what it
/// is worth in truth.
struct TestFunction {
  std::string name;
  std::string source;       ///< who published it
  std::int64_t epochs = 1;  ///< of a full training; 1: there is nothing to stop early
  double minimum = 0;
  space::SearchSpace params;
  double (*true_value)(const space::Sample&) = nullptr;  ///< after all epochs, without noise
  /// `rng` belongs to the configuration and the epoch.
  double (*measured)(const space::Sample&, double part, Rng rng) = nullptr;  ///< part: of all epochs, in (0, 1]

  /// What a strategy is made from: one base model that nobody trains, and one goal, to minimise "loss".
  strategy::Context context(std::uint64_t seed) const;
};

/// branin, hartmann6, tree (conditional), mf_hartmann (noisy, 27 epochs).
std::vector<TestFunction> test_functions();

}  // namespace lanista::bench
