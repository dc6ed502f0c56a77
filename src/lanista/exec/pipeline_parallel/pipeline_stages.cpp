#include "lanista/exec/pipeline_parallel/pipeline_stages.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "lanista/model/graph/infer.h"
#include "lanista/plan/pipeline/planner.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::runtime {
namespace {

using graph::NodeId;
using plan::bytes_of;

// Returns the backward nodes with no other use than a gradient of a parameter.
std::set<NodeId> of_weights(const autodiff::TrainingStep& train) {
  std::set<NodeId> ends;
  for (const auto& [parameter, gradient] : train.gradient) ends.insert(gradient.node);
  for (const NodeId id : train.compute) {
    for (const graph::Port& port : train.graph.node(id).inputs) ends.erase(port.node);
  }
  return ends;
}

}  // namespace

std::set<NodeId> upstream(const autodiff::TrainingStep& train, std::vector<NodeId> from) {
  std::set<NodeId> found;
  while (!from.empty()) {
    const NodeId id = from.back();
    from.pop_back();
    if (!found.insert(id).second) continue;
    for (const graph::Port& port : train.graph.node(id).inputs) from.push_back(port.node);
  }
  return found;
}

Result<PlannedModel> planned_step(const autodiff::TrainingStep& train, const graph::OpTable& ops, std::int64_t batch,
                                  double copies, const plan::CostPrices& prices) {
  PlannedModel planned;
  pipeline::Model& model = planned.model;
  model.batch = batch;
  model.parameter_copies = copies;
  const std::set<NodeId> forward = upstream(train, {train.loss.node});
  const std::set<NodeId> weights = of_weights(train);
  const std::set<NodeId> computed(train.compute.begin(), train.compute.end());
  std::map<NodeId, std::uint32_t> number;
  for (const NodeId id : train.compute) {
    const auto origin = train.origin.find(id);
    if (origin == train.origin.end()) continue;
    const auto [at, is_new] = number.emplace(origin->second, static_cast<std::uint32_t>(planned.nodes.size()));
    if (!is_new) continue;
    planned.nodes.push_back(origin->second);
    model.operators.emplace_back().name = "%" + std::to_string(origin->second.value) + " " + train.graph.node(id).op;
  }
  for (std::int64_t n = 1;; n *= 2) {
    for (pipeline::Operator& op : model.operators) {
      for (pipeline::Curve* curve : {&op.forward, &op.input_grad, &op.weight_grad}) curve->push_back(0);
    }
    for (const NodeId id : train.compute) {
      const auto origin = train.origin.find(id);
      if (origin == train.origin.end()) continue;
      pipeline::Operator& op = model.operators[number.at(origin->second)];
      const graph::Node& node = train.graph.node(id);
      const graph::Cost cost = plan::sample_work(node, train.types, *ops.find(node.op));
      const auto samples = static_cast<double>(n);
      (forward.contains(id)   ? op.forward
       : weights.contains(id) ? op.weight_grad
                              : op.input_grad)
          .back() += 1e-6 * prices.us(cost.flops * samples, cost.bytes * samples);
    }
    if (n >= batch) break;
  }
  std::map<NodeId, NodeId> result;  // the last forward node of each operator, which other operators read
  for (const NodeId id : train.compute) {
    const auto origin = train.origin.find(id);
    if (origin == train.origin.end() || !forward.contains(id)) continue;
    const std::uint32_t to = number.at(origin->second);
    result[origin->second] = id;
    for (const graph::ValueType& type : train.types.outputs(id)) {
      if (type.shape.has_batch()) model.operators[to].activation_bytes += bytes_of(type);
    }
    for (const graph::Port& port : train.graph.node(id).inputs) {
      if (!computed.contains(port.node)) continue;
      const std::uint32_t from = number.at(train.origin.at(port.node));
      if (from != to) model.edges.emplace_back(from, to);
    }
  }
  for (const auto& [origin, id] : result) {
    model.operators[number.at(origin)].output_bytes = bytes_of(train.types.at({id, 0}));
  }
  for (const autodiff::StateTensor& tensor : train.state) {
    const auto found = number.find(train.origin.at(tensor.node));
    if (found == number.end()) continue;
    model.operators[found->second].parameter_bytes += 4.0 * static_cast<double>(tensor.shape.elements_per_sample());
  }
  std::ranges::sort(model.edges);
  model.edges.erase(std::ranges::unique(model.edges).begin(), model.edges.end());
  model.hash = pipeline::hash_of(model);
  LANISTA_TRY(pipeline::check(model));
  return planned;
}

pipeline::Devices single_devices(std::int64_t count, double seconds, double memory_bytes) {
  const auto classes = static_cast<std::size_t>(std::min<std::int64_t>(count, pipeline::kMaxDeviceClasses));
  pipeline::Devices devices = pipeline::equal_devices(1, memory_bytes, {seconds, 1e10});
  const pipeline::DeviceClass one = devices.classes.front();
  const pipeline::Link link = devices.links.at(0).at(0);
  devices.classes.assign(classes, one);
  devices.links.assign(classes, std::vector<pipeline::Link>(classes, link));
  return devices;
}

pipeline::Devices star_devices(std::int64_t count, const pipeline::Link& link, double memory_bytes) {
  pipeline::Devices devices = single_devices(count, 0, memory_bytes);
  const pipeline::Link by_the_first{2 * link.seconds, link.bytes_per_second / 2};
  for (std::size_t a = 0; a < devices.links.size(); ++a) {
    for (std::size_t b = 0; b < devices.links.size(); ++b) {
      devices.links[a][b] = a == 0 || b == 0 ? link : by_the_first;
    }
  }
  return devices;
}

namespace {

// Divides each stage by the sets of other stages that its operators read, directly or indirectly.
pipeline::PipelinePlan unfolded(const pipeline::PipelinePlan& plan, const pipeline::Model& model) {
  const pipeline::Neighbours near(model);
  std::vector<std::size_t> stage_of(model.operators.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const std::uint32_t op : plan.stages[s].operators) stage_of[op] = s;
  }
  std::vector<std::set<std::size_t>> read(model.operators.size());  // including its own stage
  pipeline::PipelinePlan finer{plan.model, plan.batch, {}};
  std::map<std::pair<std::size_t, std::set<std::size_t>>, std::size_t> known;
  for (const std::uint32_t op : pipeline::dependency_order(near)) {
    read[op].insert(stage_of[op]);
    for (const std::uint32_t before : near.previous[op]) read[op].insert(read[before].begin(), read[before].end());
    const auto [at, is_new] = known.emplace(std::pair(stage_of[op], read[op]), finer.stages.size());
    if (is_new) {
      finer.stages.push_back(plan.stages[stage_of[op]]);
      finer.stages.back().operators.clear();
    }
    finer.stages[at->second].operators.push_back(op);
  }
  for (pipeline::Stage& stage : finer.stages) std::ranges::sort(stage.operators);
  return finer;
}

pipeline::ActionKind kind_of(program::StagePass::Kind kind) {
  using Kind = program::StagePass::Kind;
  return kind == Kind::kForward     ? pipeline::ActionKind::kForward
         : kind == Kind::kBackward  ? pipeline::ActionKind::kBackward
         : kind == Kind::kInputGrad ? pipeline::ActionKind::kInputGrad
                                    : pipeline::ActionKind::kWeightGrad;
}

Result<program::StagePass> pass_of(const pipeline::Action& action) {
  program::StagePass pass{.stage = action.stage, .micro = action.micro};
  switch (action.kind) {
    case pipeline::ActionKind::kForward:
      pass.kind = program::StagePass::Kind::kForward;
      return pass;
    case pipeline::ActionKind::kBackward:
      pass.kind = program::StagePass::Kind::kBackward;
      return pass;
    case pipeline::ActionKind::kInputGrad:
      pass.kind = program::StagePass::Kind::kInputGrad;
      return pass;
    case pipeline::ActionKind::kWeightGrad:
      pass.kind = program::StagePass::Kind::kWeightGrad;
      return pass;
    default:
      return Error{Code::kUnimplemented,
                   pipeline::text_of(action) + ": threads of one process run schedules of passes only", ""};
  }
}

}  // namespace

Result<ChosenPlan> chosen_plan(const pipeline::Problem& problem, std::int64_t micro_batch) {
  LANISTA_ASSIGN(const pipeline::Planned planned, pipeline::make_plan(problem, {.micro_batch = micro_batch}));
  ChosenPlan best;
  const auto take = [&](pipeline::PipelinePlan plan, pipeline::Schedule schedule) -> Result<void> {
    LANISTA_ASSIGN(const auto course, pipeline::simulate(schedule, plan, problem, false));
    if (best.plan.stages.empty() || course.seconds < best.seconds * (1 - 1e-9)) {
      best = {std::move(plan), std::move(schedule), course.seconds};
    }
    return {};
  };
  // Passes in a row need more memory, but are faster if their inputs are still in a cache.
  const auto consider = [&](pipeline::PipelinePlan plan) -> Result<void> {
    pipeline::PipelinePlan all = pipeline::with_whole_batch_in_flight(plan);
    pipeline::Schedule in_turns = pipeline::split_backward(plan, problem);
    LANISTA_TRY(take(std::move(plan), std::move(in_turns)));
    if (!pipeline::check(all, problem)) return {};
    pipeline::Schedule in_a_row = pipeline::gpipe(all);
    return take(std::move(all), std::move(in_a_row));
  };
  LANISTA_TRY(consider(planned.plan));
  auto finer = pipeline::arranged(unfolded(planned.plan, problem.model), problem.model);
  if (finer && pipeline::check(*finer, problem)) LANISTA_TRY(consider(*std::move(finer)));
  return best;
}

Result<program::Stages> executable_stages(const pipeline::PipelinePlan& plan, const pipeline::Schedule& schedule,
                                          const pipeline::Problem& problem, const std::vector<graph::NodeId>& nodes) {
  LANISTA_TRY(pipeline::check(plan, problem));
  LANISTA_TRY(pipeline::prove(schedule, plan));
  program::Stages stages;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const pipeline::Stage& stage = plan.stages[i];
    if (stage.devices.size() > 1) {
      return Error{Code::kUnimplemented,
                   "stage " + std::to_string(i) + " is on " + std::to_string(stage.devices.size()) +
                       " devices; with threads each stage must be on one",
                   ""};
    }
    program::Stage own{.nodes = {},
                       .micro_batches = plan.batch / stage.micro_batch,
                       .slots = stage.in_flight / stage.micro_batch,
                       .successors = stage.successors};
    for (const std::uint32_t op : stage.operators) own.nodes.push_back(nodes.at(op));
    own.name = problem.model.operators[stage.operators.front()].name;
    if (stage.operators.size() > 1) own.name += " .. " + problem.model.operators[stage.operators.back()].name;
    stages.stages.push_back(std::move(own));
  }
  for (const pipeline::RankSchedule& rank : schedule.ranks) {
    stages.ranks.emplace_back();
    for (const pipeline::Action& action : rank.actions) {
      // One update follows after all ranks.
      if (action.kind == pipeline::ActionKind::kReduce || action.kind == pipeline::ActionKind::kStep) continue;
      LANISTA_ASSIGN(const program::StagePass pass, pass_of(action));
      stages.ranks.back().push_back(pass);
    }
  }
  LANISTA_ASSIGN(const pipeline::SimulationResult course, pipeline::simulate(schedule, plan, problem));
  stages.expected.resize(stages.ranks.size());
  for (const pipeline::Span& span : course.spans) {
    if (pass_of(span.action)) stages.expected.at(span.rank).push_back({span.begin, span.end});
  }
  return stages;
}

std::optional<pipeline::TimedStep> timed_step_of(const program::StepTimes& times) {
  const program::Stages& stages = times.stages;
  pipeline::TimedStep step{.batch = times.batch, .stages = {}, .ranks = {}};
  for (const program::Stage& stage : stages.stages) {
    const std::int64_t micro_batch = (times.batch + stage.micro_batches - 1) / stage.micro_batches;
    step.stages.push_back({.operators = stage.name,
                           .count = std::ssize(stage.nodes),
                           .micro_batch = micro_batch,
                           .in_flight = std::min(stage.slots * micro_batch, times.batch),
                           .successors = stage.successors});
  }
  if (stages.expected.size() != stages.ranks.size()) return std::nullopt;
  for (std::size_t p = 0; p < stages.ranks.size(); ++p) {
    if (stages.expected[p].size() != stages.ranks[p].size()) return std::nullopt;
    auto& rank = step.ranks.emplace_back();
    for (std::size_t i = 0; i < stages.ranks[p].size(); ++i) {
      const program::StagePass& pass = stages.ranks[p][i];
      const program::PassTime expected = stages.expected[p][i], was = times.ranks[p][i];
      rank.push_back({kind_of(pass.kind), pass.stage, pass.micro, expected.begin, expected.end, was.begin, was.end});
    }
  }
  if (!pipeline::fits_record(step)) return std::nullopt;
  return step;
}

}  // namespace lanista::runtime
