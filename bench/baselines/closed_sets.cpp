#include "bench/baselines/closed_sets.h"

#include <algorithm>
#include <set>

namespace lanista::pipeline {

bool contains(const OperatorSet& large, const OperatorSet& small) {
  for (std::size_t w = 0; w < large.size(); ++w) {
    if ((small[w] & ~large[w]) != 0) return false;
  }
  return true;
}

std::vector<OperatorSet> closed_sets(const std::vector<std::vector<std::uint32_t>>& needed, std::size_t most) {
  const std::size_t count = needed.size();
  std::vector<OperatorSet> found{OperatorSet((count + 63) / 64, 0)};
  std::set<OperatorSet> known{found[0]};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::uint32_t op = 0; op < count; ++op) {
      if (has(found[i], op)) continue;
      const OperatorSet& now = found[i];
      if (!std::ranges::all_of(needed[op], [&](std::uint32_t n) { return has(now, n); })) continue;
      OperatorSet larger = now;
      add(larger, op);
      if (!known.insert(larger).second) continue;
      found.push_back(std::move(larger));
      if (found.size() > most) return {};
    }
  }
  return found;
}

}  // namespace lanista::pipeline
