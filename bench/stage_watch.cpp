#include "bench/stage_watch.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace lanista::bench {

double Replay::seconds() {
  using Kind = nn::StagePass::Kind;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, double> ended;  // forward, stage, micro-batch
  std::vector<std::size_t> at(stages_.places.size());
  std::vector<double> clock(at.size());
  for (bool moved = true; std::exchange(moved, false);) {
    for (std::size_t p = 0; p < at.size(); ++p) {
      for (; at[p] < stages_.places[p].size(); ++at[p], moved = true) {
        const nn::StagePass& pass = stages_.places[p][at[p]];
        const bool forth = pass.kind == Kind::kForward;
        double ready = clock[p];
        bool waits = false;
        for (std::uint32_t s = 0; s < stages_.stages.size() && pass.kind != Kind::kWeightGrad; ++s) {
          const auto& after = stages_.stages[forth ? s : pass.stage].after;
          if (std::ranges::count(after, forth ? pass.stage : s) == 0) continue;
          const auto found = ended.find({forth, s, pass.micro});
          waits = waits || found == ended.end();
          if (!waits) ready = std::max(ready, found->second);
        }
        if (waits) break;
        clock[p] = ready + took_[p][at[p]];
        if (pass.kind != Kind::kWeightGrad) ended[{forth, pass.stage, pass.micro}] = clock[p];
      }
    }
  }
  for (auto& times : took_) times.clear();
  return *std::ranges::max_element(clock);
}

}  // namespace lanista::bench
