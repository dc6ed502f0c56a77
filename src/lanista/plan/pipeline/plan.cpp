#include "lanista/plan/pipeline/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace lanista::pipeline {
namespace {

constexpr std::uint32_t kInNoStage = UINT32_MAX;

std::vector<std::uint32_t> stage_of_operators(const PipelinePlan& plan, std::size_t operators) {
  std::vector<std::uint32_t> stage(operators, kInNoStage);
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    for (const std::uint32_t op : plan.stages[s].operators) {
      if (op < operators) stage[op] = s;
    }
  }
  return stage;
}

/// Returns the stages in dependency order; of ready ones the one with the smallest operator is first.
std::vector<std::uint32_t> stage_order(const std::vector<Stage>& stages) {
  std::vector<int> waits(stages.size(), 0);
  for (const Stage& stage : stages) {
    for (const std::uint32_t next : stage.successors) ++waits[next];
  }
  const auto first = [&](std::uint32_t s) {
    return std::pair{stages[s].operators.empty() ? kInNoStage : stages[s].operators.front(), s};
  };
  std::set<std::pair<std::uint32_t, std::uint32_t>> ready;
  for (std::uint32_t s = 0; s < stages.size(); ++s) {
    if (waits[s] == 0) ready.insert(first(s));
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t s = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(s);
    for (const std::uint32_t next : stages[s].successors) {
      if (--waits[next] == 0) ready.insert(first(next));
    }
  }
  return order;
}

void insert_sorted(std::vector<std::uint32_t>& values, std::uint32_t value) {
  const auto at = std::ranges::lower_bound(values, value);
  if (at == values.end() || *at != value) values.insert(at, value);
}

}  // namespace

std::vector<StageEdge> edges_of(const PipelinePlan& plan, const Model& model) {
  const auto stage = stage_of_operators(plan, model.operators.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    for (const std::uint32_t next : plan.stages[s].successors) bytes[{s, next}] = 0;
  }
  // Edges of one operator are adjacent, so each value counts once for each stage.
  std::vector<std::uint32_t> counted;
  for (std::size_t i = 0; i < model.edges.size(); ++i) {
    const auto& [from, to] = model.edges[i];
    if (i == 0 || model.edges[i - 1].first != from) counted.clear();
    if (stage[from] == stage[to] || std::ranges::find(counted, stage[to]) != counted.end()) continue;
    counted.push_back(stage[to]);
    bytes[{stage[from], stage[to]}] += model.operators[from].output_bytes;
  }
  std::vector<StageEdge> edges;
  for (const auto& [ends, sum] : bytes) edges.push_back({ends.first, ends.second, sum});
  return edges;
}

void set_turns(PipelinePlan& plan) {
  for (Stage& stage : plan.stages) stage.k = 1;
  for (const Stage& stage : plan.stages) {
    for (const std::uint32_t next : stage.successors) {
      Stage& after = plan.stages[next];
      const std::int64_t held = stage.k * stage.micro_batch;
      after.k = std::max(after.k, (held + after.micro_batch - 1) / after.micro_batch);
    }
  }
}

void set_in_flight(PipelinePlan& plan) {
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    Stage& stage = plan.stages[s];
    const std::int64_t turn = stage.k * stage.micro_batch;
    std::int64_t most = turn;
    for (const std::uint32_t next : stage.successors) {
      const Stage& after = plan.stages[next];
      most = std::max(most, after.in_flight + std::max(turn, after.k * after.micro_batch));
    }
    most = (most + stage.micro_batch - 1) / stage.micro_batch * stage.micro_batch;
    stage.in_flight = std::min(most, plan.batch);
  }
}

Result<PipelinePlan> arranged(PipelinePlan plan, const Model& model, bool chain) {
  for (Stage& stage : plan.stages) std::ranges::sort(stage.operators), stage.successors.clear();
  for (const StageEdge& edge : edges_of(plan, model)) plan.stages[edge.from].successors.push_back(edge.to);
  const auto order = stage_order(plan.stages);
  if (order.size() != plan.stages.size()) return Error{Code::kInvalidArgument, "the stages form a cycle", ""};
  std::vector<std::uint32_t> rank(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  std::vector<Stage> stages;
  for (const std::uint32_t s : order) {
    stages.push_back(std::move(plan.stages[s]));
    for (std::uint32_t& next : stages.back().successors) next = rank[next];
    std::ranges::sort(stages.back().successors);
  }
  plan.stages = std::move(stages);
  if (chain) {
    for (std::uint32_t s = 0; s + 1 < plan.stages.size(); ++s) insert_sorted(plan.stages[s].successors, s + 1);
  }
  set_turns(plan);
  set_in_flight(plan);
  return plan;
}

std::vector<double> bytes_of(const PipelinePlan& plan, const Model& model) {
  std::vector<double> received(plan.stages.size(), 0), bytes;
  for (const StageEdge& edge : edges_of(plan, model)) received[edge.to] += edge.bytes_per_sample;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    double parameters = 0, kept = received[s];
    for (const std::uint32_t op : stage.operators) {
      parameters += model.operators[op].parameter_bytes;
      kept += model.operators[op].activation_bytes;
    }
    const auto share = static_cast<std::int64_t>(stage.devices.size());
    const double samples = static_cast<double>((stage.in_flight + share - 1) / share);
    bytes.push_back(model.parameter_copies * parameters + samples * kept);
  }
  return bytes;
}

void limit_in_flight(PipelinePlan& plan, const Problem& problem) {
  for (;;) {
    const auto bytes = bytes_of(plan, problem.model);
    std::map<std::int64_t, double> held;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) held[plan.stages[s].devices[0]] += bytes[s];
    std::map<std::int64_t, std::size_t> largest;  // For each full device, the stage that can release most.
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const Stage& stage = plan.stages[s];
      const std::int64_t device = stage.devices[0];
      const double memory = problem.devices.classes[problem.devices.class_of(device)].memory_bytes;
      if (held[device] <= memory || stage.in_flight - stage.micro_batch < stage.k * stage.micro_batch) continue;
      const auto [at, fresh] = largest.emplace(device, s);
      if (!fresh && bytes[s] > bytes[at->second]) at->second = s;
    }
    if (largest.empty()) return;
    for (const auto& [device, s] : largest) plan.stages[s].in_flight -= plan.stages[s].micro_batch;
    // A stage must not need more samples to start than the stages before it hold. Otherwise it would never start.
    for (const Stage& stage : plan.stages) {
      for (const std::uint32_t next : stage.successors) {
        std::int64_t& after = plan.stages[next].in_flight;
        after = std::min(after, stage.in_flight);
      }
    }
  }
}

std::size_t depth_of(const PipelinePlan& plan) {
  std::vector<std::size_t> height(plan.stages.size(), 1);
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    for (const std::uint32_t next : plan.stages[s].successors) height[s] = std::max(height[s], height[next] + 1);
  }
  return height.empty() ? 0 : *std::ranges::max_element(height);
}

}  // namespace lanista::pipeline
