#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {
namespace {

using Key =
    // Stage, pass (0 forward, 1 input gradient, 2 weight gradient) and micro-batch.
    std::tuple<int, std::uint32_t, std::uint32_t>;

/// The position of each pass and transfer, numbered over all ranks.
struct Directory {
  std::map<Key, std::size_t> passes;
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, std::array<std::vector<std::size_t>, 2>> transfers;
  std::vector<Action> actions;
  std::vector<std::vector<std::size_t>> later;  // Actions that wait for each action.
  std::vector<std::size_t> waits;
};

Error stuck(const std::string& what) { return {Code::kFailedPrecondition, what, ""}; }

Result<void> fill(const Schedule& schedule, Directory& all) {
  for (const RankSchedule& rank : schedule.ranks) {
    for (std::size_t i = 0; i < rank.actions.size(); ++i) {
      const Action& action = rank.actions[i];
      const std::size_t at = all.actions.size();
      all.actions.push_back(action);
      all.later.emplace_back();
      all.waits.push_back(i > 0 ? 1 : 0);
      if (i > 0) all.later[at - 1].push_back(at);
      std::vector<int> done;
      switch (action.kind) {
        case ActionKind::kForward:
          done = {0};
          break;
        case ActionKind::kBackward:
          done = {1, 2};
          break;
        case ActionKind::kInputGrad:
          done = {1};
          break;
        case ActionKind::kWeightGrad:
          done = {2};
          break;
        case ActionKind::kSend:
          all.transfers[{action.gradient, action.stage, action.peer}][0].push_back(at);
          break;
        case ActionKind::kReceive:
          all.transfers[{action.gradient, action.peer, action.stage}][1].push_back(at);
          break;
        default:
          break;
      }
      for (const int what : done) {
        if (!all.passes.emplace(Key{what, action.stage, action.micro}, at).second) {
          return stuck(text_of(action) + " is listed twice");
        }
      }
    }
  }
  return {};
}

void wait(Directory& all, std::size_t before, std::size_t after) {
  if (before == after) return;
  all.later[before].push_back(after);
  ++all.waits[after];
}

Result<void> match_transfers(Directory& all) {
  for (const auto& [channel, ends] : all.transfers) {
    const auto& [sends, receives] = ends;
    for (std::size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
      if (i >= sends.size()) return stuck(text_of(all.actions[receives[i]]) + " is never sent");
      if (i >= receives.size()) return stuck(text_of(all.actions[sends[i]]) + " is never received");
      if (all.actions[sends[i]].micro != all.actions[receives[i]].micro) {
        return stuck(text_of(all.actions[receives[i]]) + " does not match " + text_of(all.actions[sends[i]]));
      }
      wait(all, sends[i], receives[i]);
    }
  }
  return {};
}

Result<void> link_passes(const PipelinePlan& plan, Directory& all) {
  const auto find = [&](int what, std::uint32_t stage, std::int64_t micro) {
    const auto at = all.passes.find(Key{what, stage, static_cast<std::uint32_t>(micro)});
    return at == all.passes.end() ? SIZE_MAX : at->second;
  };
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    const std::int64_t size = plan.stages[s].micro_batch;
    for (std::int64_t m = 0; m < plan.batch / size; ++m) {
      for (int what = 0; what < 3; ++what) {
        const std::size_t at = find(what, s, m);
        if (at == SIZE_MAX) {
          return stuck("stage " + std::to_string(s) + " has no pass " + std::string(1, "FIW"[what]) +
                       std::to_string(m));
        }
        if (what > 0) wait(all, find(what - 1, s, m), at);
        if (what < 2 && m > 0) wait(all, find(what, s, m - 1), at);
      }
      for (const std::uint32_t next : plan.stages[s].successors) {
        const std::int64_t step = plan.stages[next].micro_batch;
        const std::int64_t last = ((m + 1) * size - 1) / step;
        const std::size_t theirs = find(1, next, last);
        if (theirs != SIZE_MAX) wait(all, theirs, find(1, s, m));
      }
    }
    for (const std::uint32_t next : plan.stages[s].successors) {
      const std::int64_t step = plan.stages[next].micro_batch;
      for (std::int64_t m = 0; m < plan.batch / step; ++m) {
        const std::size_t theirs = find(0, next, m);
        if (theirs != SIZE_MAX) wait(all, find(0, s, ((m + 1) * step - 1) / size), theirs);
      }
    }
  }
  return {};
}

}  // namespace

Result<void> prove(const Schedule& schedule, const PipelinePlan& plan) {
  Directory all;
  LANISTA_TRY(fill(schedule, all));
  LANISTA_TRY(match_transfers(all));
  LANISTA_TRY(link_passes(plan, all));
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    if (all.waits[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::size_t at = ready.back();
    ready.pop_back();
    ++done;
    for (const std::size_t next : all.later[at]) {
      if (--all.waits[next] == 0) ready.push_back(next);
    }
  }
  if (done == all.actions.size()) return {};
  const auto first = std::ranges::find_if(all.waits, [](std::size_t waits) { return waits > 0; });
  return stuck(text_of(all.actions[static_cast<std::size_t>(first - all.waits.begin())]) + " never starts");
}

}  // namespace lanista::pipeline
