#include "bench/pass_replay.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace lanista::bench {

double PassReplay::seconds() {
  using Kind = program::StagePass::Kind;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, double> ended;  // forward, stage, micro-batch
  std::vector<std::size_t> at(stages_.ranks.size());
  std::vector<double> clock(at.size());
  for (bool moved = true; std::exchange(moved, false);) {
    for (std::size_t p = 0; p < at.size(); ++p) {
      for (; at[p] < stages_.ranks[p].size(); ++at[p], moved = true) {
        const program::StagePass& pass = stages_.ranks[p][at[p]];
        const bool forward = pass.kind == Kind::kForward;
        double ready = clock[p];
        bool waits = false;
        for (std::uint32_t s = 0; s < stages_.stages.size() && pass.kind != Kind::kWeightGrad; ++s) {
          const auto& after = stages_.stages[forward ? s : pass.stage].successors;
          if (std::ranges::count(after, forward ? pass.stage : s) == 0) continue;
          const auto found = ended.find({forward, s, pass.micro});
          waits = waits || found == ended.end();
          if (!waits) ready = std::max(ready, found->second);
        }
        if (waits) break;
        clock[p] = ready + pass_seconds_[p][at[p]];
        if (pass.kind != Kind::kWeightGrad) ended[{forward, pass.stage, pass.micro}] = clock[p];
      }
    }
  }
  for (auto& times : pass_seconds_) times.clear();
  return *std::ranges::max_element(clock);
}

}  // namespace lanista::bench
