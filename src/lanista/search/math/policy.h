#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::search {

/// A factorised categorical policy: one independent softmax over the answers of each decision.
///
/// A decision is identified by its name and its number of answers. At first all its answers have equal probability.
class Policy {
 public:
  /// Returns the probabilities of the `count` answers of a decision, which sum to 1.
  std::vector<double> probabilities(const std::string& decision, std::int64_t count) const;
  /// Returns an answer of a decision, sampled with its probability: an index in [0, count). A pure function: the same
  /// `rng`, of which it reads the next number of a copy, gives the same answer.
  std::int64_t sample(const std::string& decision, std::int64_t count, const Rng& rng) const;

  /// Does one step of REINFORCE (Williams, 1992) for the given `answer`, an index in [0, count).
  ///
  /// Adds rate · (advantage · grad log p(answer) + entropy · grad H) to the logits, where H is the entropy of the
  /// decision.
  void reinforce(const std::string& decision, std::int64_t count, std::int64_t answer, double advantage, double rate,
                 double entropy);

 private:
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> logits_;
};

}  // namespace lanista::search
