#include "lanista/plan/pipeline/schedule.h"

#include <algorithm>
#include <map>

#include "lanista/base/check.h"
#include "lanista/plan/pipeline/greedy.h"

namespace lanista::pipeline {
namespace {

std::uint32_t count_of(const PipelinePlan& plan, const Stage& stage) {
  return static_cast<std::uint32_t>(plan.batch / stage.micro_batch);
}

void end_step(const PipelinePlan& plan, std::uint32_t s, RankSchedule& rank) {
  if (plan.stages[s].devices.size() > 1) rank.actions.push_back({ActionKind::kReduce, s});
  rank.actions.push_back({ActionKind::kStep, s});
}

std::vector<Action> turns_of(const PipelinePlan& plan, std::uint32_t s) {
  const Stage& stage = plan.stages[s];
  const std::uint32_t count = count_of(plan, stage), k = static_cast<std::uint32_t>(stage.k);
  const auto warm = static_cast<std::uint32_t>(stage.in_flight / stage.micro_batch);
  std::vector<Action> actions;
  std::uint32_t forward = 0, backward = 0;
  for (; forward < std::min(warm, count); ++forward) actions.push_back({ActionKind::kForward, s, forward});
  while (backward < count) {
    for (std::uint32_t i = 0; i < k && backward < count; ++i) actions.push_back({ActionKind::kBackward, s, backward++});
    for (std::uint32_t i = 0; i < k && forward < count; ++i) actions.push_back({ActionKind::kForward, s, forward++});
  }
  return actions;
}

}  // namespace

std::string text_of(const Action& action) {
  static constexpr const char* kWords[] = {"F", "B", "I", "W", "SEND ", "RECV ", "REDUCE", "STEP"};
  std::string text = kWords[static_cast<int>(action.kind)];
  const std::string stage = "@" + std::to_string(action.stage);
  if (action.kind == ActionKind::kReduce || action.kind == ActionKind::kStep) return text + stage;
  if (action.kind != ActionKind::kSend && action.kind != ActionKind::kReceive)
    return text + std::to_string(action.micro) + stage;
  const auto from = action.kind == ActionKind::kSend ? action.stage : action.peer;
  const auto to = action.kind == ActionKind::kSend ? action.peer : action.stage;
  return text + (action.gradient ? "B" : "F") + std::to_string(action.micro) + "@" + std::to_string(from) + ">" +
         std::to_string(to);
}

std::vector<RankSchedule> ranks_of(const PipelinePlan& plan, std::vector<std::vector<std::uint32_t>>* stages) {
  std::map<std::vector<std::int64_t>, std::size_t> known;
  std::vector<RankSchedule> ranks;
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    const auto [at, fresh] = known.emplace(plan.stages[s].devices, ranks.size());
    if (fresh) {
      ranks.push_back({plan.stages[s].devices, {}});
      stages->emplace_back();
    }
    (*stages)[at->second].push_back(s);
  }
  return ranks;
}

Schedule kfkb(const PipelinePlan& plan, const Problem& problem) {
  std::vector<std::vector<std::uint32_t>> stages;
  Schedule schedule{ranks_of(plan, &stages)};
  if (schedule.ranks.size() < plan.stages.size()) {
    const auto merged = greedy(plan, problem, {});
    LANISTA_CHECK(merged.ok(), "a greedy schedule must end");
    return *merged;
  }
  for (std::size_t p = 0; p < stages.size(); ++p) {
    schedule.ranks[p].actions = turns_of(plan, stages[p].front());
    end_step(plan, stages[p].front(), schedule.ranks[p]);
  }
  return schedule;
}

PipelinePlan with_whole_batch_in_flight(PipelinePlan plan) {
  for (Stage& stage : plan.stages) stage.in_flight = plan.batch;
  return plan;
}

Schedule gpipe(const PipelinePlan& plan) {
  std::vector<std::vector<std::uint32_t>> stages;
  Schedule schedule{ranks_of(plan, &stages)};
  for (std::size_t p = 0; p < stages.size(); ++p) {
    auto& actions = schedule.ranks[p].actions;
    for (const std::uint32_t s : stages[p]) {
      for (std::uint32_t m = 0; m < count_of(plan, plan.stages[s]); ++m)
        actions.push_back({ActionKind::kForward, s, m});
    }
    for (std::size_t i = stages[p].size(); i-- > 0;) {
      const std::uint32_t s = stages[p][i];
      for (std::uint32_t m = 0; m < count_of(plan, plan.stages[s]); ++m)
        actions.push_back({ActionKind::kBackward, s, m});
    }
    for (const std::uint32_t s : stages[p]) end_step(plan, s, schedule.ranks[p]);
  }
  return schedule;
}

Schedule lowered(const Schedule& schedule, const PipelinePlan& plan, const Model& model) {
  std::vector<std::vector<StageEdge>> in(plan.stages.size()), out(plan.stages.size());
  for (const StageEdge& edge : edges_of(plan, model)) {
    if (edge.bytes_per_sample == 0 && plan.stages[edge.from].devices == plan.stages[edge.to].devices) continue;
    out[edge.from].push_back(edge);
    in[edge.to].push_back(edge);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> num_received_forward,
      num_received_backward;  // (from, to): number received.
  Schedule result;
  for (const RankSchedule& rank : schedule.ranks) {
    RankSchedule& mine = result.ranks.emplace_back(RankSchedule{rank.devices, {}});
    for (const Action& action : rank.actions) {
      const std::uint32_t s = action.stage;
      const std::int64_t last = (action.micro + 1) * plan.stages[s].micro_batch - 1;
      const bool forward = action.kind == ActionKind::kForward;
      const bool backward = action.kind == ActionKind::kBackward || action.kind == ActionKind::kInputGrad;
      const auto receive = [&](std::uint32_t peer, std::uint32_t& next) {
        for (; next <= last / plan.stages[peer].micro_batch; ++next) {
          mine.actions.push_back({ActionKind::kReceive, s, next, peer, backward});
        }
      };
      if (forward) {
        for (const StageEdge& edge : in[s]) receive(edge.from, num_received_forward[{edge.from, s}]);
      } else if (backward) {
        for (const StageEdge& edge : out[s]) receive(edge.to, num_received_backward[{s, edge.to}]);
      }
      mine.actions.push_back(action);
      if (forward) {
        for (const StageEdge& edge : out[s])
          mine.actions.push_back({ActionKind::kSend, s, action.micro, edge.to, false});
      } else if (backward) {
        for (const StageEdge& edge : in[s])
          mine.actions.push_back({ActionKind::kSend, s, action.micro, edge.from, true});
      }
    }
  }
  return result;
}

}  // namespace lanista::pipeline
