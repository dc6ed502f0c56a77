#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::strategy {

/// A factorised categorical policy: a softmax over the answers of each decision, independent of the others. A decision
/// is known by its name and its number of answers; at first all answers are equally probable.
class Policy {
 public:
  std::vector<double> probabilities(const std::string& decision, std::int64_t count) const;
  std::int64_t sample(const std::string& decision, std::int64_t count, const Rng& rng) const;

  /// One step of REINFORCE (Williams, 1992): adds rate · (advantage · grad log p(answer) + entropy · grad H).
  void reinforce(const std::string& decision, std::int64_t count, std::int64_t answer, double advantage, double rate,
                 double entropy);

 private:
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> logits_;
};

}  // namespace lanista::strategy
