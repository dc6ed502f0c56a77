#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/search/sampler/strategy.h"

namespace lanista::bench {

/// A function with a known minimum that a search treats as a training.
struct TestFunction {
  std::string name;
  std::string source;         ///< Publication.
  std::int64_t epochs = 1;    ///< Epochs of a full training; with 1 no trial can stop early.
  double minimum = 0;         ///< Lowest true value.
  space::SearchSpace params;  ///< Arguments of the function.
  /// The value of a configuration after all epochs, without noise.
  double (*true_value)(const space::Sample&) = nullptr;
  /// The measurement of a configuration after `part` of its epochs, in (0, 1]. `rng` is the stream of this
  /// configuration and epoch.
  double (*measured)(const space::Sample&, double part, Rng rng) = nullptr;

  /// The context from which a strategy is made: one base model that is not trained, and the goal to minimise "loss".
  search::Context context(std::uint64_t seed) const;
};

/// The test functions: branin, hartmann6, tree (with conditions), and mf_hartmann (with noise, 27 epochs).
std::vector<TestFunction> test_functions();

}  // namespace lanista::bench
