#include "lanista/exec/pipeline_parallel/stage_partition.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "lanista/base/check.h"
#include "lanista/exec/program/layout.h"
#include "lanista/exec/program/program.h"

namespace lanista::program {
namespace {

using graph::NodeId;
using graph::Port;

Error invalid_stages(std::string what) {
  return {.code = Code::kInvalidArgument, .message = std::move(what), .where = {}};
}

std::string named(std::size_t stage) { return "stage " + std::to_string(stage); }

std::string text_of(const StagePass& pass) {
  constexpr std::string_view kLetters = "FBIW";
  return std::string(1, kLetters[static_cast<std::size_t>(pass.kind)]) + std::to_string(pass.micro) + " of " +
         named(pass.stage);
}

Result<void> check_stage(const Stages& stages, std::size_t at) {
  const Stage& stage = stages.stages[at];
  if (stage.nodes.empty()) return invalid_stages(named(at) + " has no operators; it needs at least one");
  if (stage.micro_batches < 1 || stage.micro_batches > kMaxBatchParts) {
    return invalid_stages(named(at) + " has " + std::to_string(stage.micro_batches) +
                          " micro-batches; allowed are 1 to " + std::to_string(kMaxBatchParts));
  }
  if (stage.slots < 1)
    return invalid_stages(named(at) + " holds " + std::to_string(stage.slots) +
                          " micro-batches; it must hold at least 1");
  for (const std::uint32_t next : stage.successors) {
    if (next > at && next < stages.stages.size()) continue;
    return invalid_stages(named(at) + " is before " + named(next) +
                          "; a stage waits for stages of smaller numbers, of " + std::to_string(stages.stages.size()));
  }
  return {};
}

// The progress of one stage while its rank's list is checked.
struct RankPasses {
  std::size_t rank = SIZE_MAX;
  std::int64_t forward = 0, input_grad = 0, weight_grad = 0;
};

Result<void> add_pass(const StagePass& pass, const Stage& stage, RankPasses& done) {
  const auto micro = static_cast<std::int64_t>(pass.micro);
  const auto next = [&](std::int64_t& count, bool may) -> Result<void> {
    if (micro != count || !may) return invalid_stages(text_of(pass) + " is in a wrong position of its list");
    ++count;
    return {};
  };
  switch (pass.kind) {
    case StagePass::Kind::kForward:
      LANISTA_TRY(next(done.forward, micro < stage.micro_batches));
      if (done.forward - done.weight_grad <= stage.slots) return {};
      return invalid_stages(text_of(pass) + " would be held in addition to " + std::to_string(stage.slots) +
                            " others, which are all slots");
    case StagePass::Kind::kBackward:
      LANISTA_TRY(next(done.input_grad, micro < done.forward));
      return next(done.weight_grad, true);
    case StagePass::Kind::kInputGrad:
      return next(done.input_grad, micro < done.forward);
    case StagePass::Kind::kWeightGrad:
      return next(done.weight_grad, micro < done.input_grad);
  }
  return {};
}

Result<void> check_passes(const Stages& stages) {
  std::vector<RankPasses> progress(stages.stages.size());
  for (std::size_t rank = 0; rank < stages.ranks.size(); ++rank) {
    for (const StagePass& pass : stages.ranks[rank]) {
      if (pass.stage >= progress.size())
        return invalid_stages(text_of(pass) + " of " + std::to_string(progress.size()));
      RankPasses& done = progress[pass.stage];
      if (done.rank == SIZE_MAX) done.rank = rank;
      if (done.rank != rank) {
        return invalid_stages(text_of(pass) + " is run by rank " + std::to_string(rank) +
                              ", others of its stage by rank " + std::to_string(done.rank) +
                              "; one rank must run all of them");
      }
      LANISTA_TRY(add_pass(pass, stages.stages[pass.stage], done));
    }
  }
  for (std::size_t i = 0; i < progress.size(); ++i) {
    const std::int64_t all = stages.stages[i].micro_batches;
    if (progress[i].weight_grad == all) continue;
    return invalid_stages(named(i) + " has " + std::to_string(progress[i].weight_grad) + " whole passes of " +
                          std::to_string(all));
  }
  return {};
}

// Returns, for each stage, the stages that wait for it directly or indirectly.
std::vector<std::vector<bool>> reachable_stages(const Stages& stages) {
  const std::size_t n = stages.stages.size();
  std::vector<std::vector<bool>> later(n, std::vector<bool>(n, false));
  for (std::size_t i = n; i-- > 0;) {
    for (const std::uint32_t next : stages.stages[i].successors) {
      later[i][next] = true;
      for (std::size_t j = 0; j < n; ++j) later[i][j] = later[i][j] || later[next][j];
    }
  }
  return later;
}

// Returns the step nodes and calls on which a value depends.
template <class Inputs>
std::set<NodeId> ancestors(std::vector<NodeId> from, const Inputs& inputs) {
  std::set<NodeId> found;
  while (!from.empty()) {
    const NodeId id = from.back();
    from.pop_back();
    if (!found.insert(id).second) continue;
    for (const Port& port : inputs(id)) from.push_back(port.node);
  }
  return found;
}

std::vector<NodeId> forward_results(const autodiff::TrainingStep& train) {
  std::vector<NodeId> results{train.loss.node};
  for (const auto& [buffer, value] : train.renewed) results.push_back(value.node);
  return results;
}

}  // namespace

std::int64_t Stages::pieces() const {
  std::int64_t all = 1;
  for (const Stage& stage : stages) all = std::lcm(all, stage.micro_batches);
  return all;
}

StagePartition partition_of(const Stages& stages, const autodiff::TrainingStep& train) {
  std::map<NodeId, std::uint32_t> of_model;
  for (std::uint32_t i = 0; i < stages.stages.size(); ++i) {
    for (const NodeId node : stages.stages[i].nodes) of_model[node] = i;
  }
  StagePartition cut;
  const std::uint32_t last = of_model.at(train.origin.at(train.prediction.node));
  for (const NodeId id : train.compute) {
    const auto origin = train.origin.find(id);
    cut.stage[id] = origin == train.origin.end() ? last : of_model.at(origin->second);
  }
  for (const NodeId id : train.compute) {
    for (const Port& port : train.graph.node(id).inputs) {
      const auto producer = cut.stage.find(port.node);
      if (producer != cut.stage.end() && producer->second != cut.stage.at(id)) cut.edge_values.insert(port);
    }
  }
  return cut;
}

Result<void> check(const Stages& stages, const autodiff::TrainingStep& train) {
  if (stages.stages.empty()) return invalid_stages("the model has no stages; it needs at least one");
  std::map<NodeId, std::size_t> stage_of;
  std::int64_t pieces = 1;
  for (std::size_t i = 0; i < stages.stages.size(); ++i) {
    LANISTA_TRY(check_stage(stages, i));
    pieces = std::lcm(pieces, stages.stages[i].micro_batches);
    if (pieces > kMaxBatchParts)
      return invalid_stages("micro-batches of unequal sizes give more pieces than " + std::to_string(kMaxBatchParts));
    for (const NodeId node : stages.stages[i].nodes) {
      const auto [known, added] = stage_of.emplace(node, i);
      if (added) continue;
      return invalid_stages("node %" + std::to_string(node.value) + " is in " + named(known->second) + " and in " +
                            named(i));
    }
  }
  const auto later = reachable_stages(stages);
  const std::set<NodeId> forward =
      ancestors(forward_results(train), [&](NodeId id) { return train.graph.node(id).inputs; });
  const auto stage = [&](NodeId id) -> std::size_t {
    const auto origin = train.origin.find(id);
    const auto found = origin == train.origin.end() ? stage_of.end() : stage_of.find(origin->second);
    return found == stage_of.end() ? SIZE_MAX : found->second;
  };
  for (const NodeId id : train.compute) {
    const auto origin = train.origin.find(id);
    if (origin == train.origin.end()) continue;
    if (stage(id) == SIZE_MAX) {
      return invalid_stages("node %" + std::to_string(origin->second.value) + " (" + train.graph.node(id).op +
                            ") is in no stage; every operator must be in one");
    }
    if (!forward.contains(id)) continue;
    for (const Port& port : train.graph.node(id).inputs) {
      const std::size_t from = train.origin.contains(port.node) && std::ranges::count(train.compute, port.node) > 0
                                   ? stage(port.node)
                                   : stage(id);
      if (from == stage(id) || later[from][stage(id)]) continue;
      return invalid_stages(named(stage(id)) + " reads " + named(from) + " (node %" +
                            std::to_string(origin->second.value) + "), but does not wait for it");
    }
  }
  if (stage(train.prediction.node) == SIZE_MAX) return invalid_stages("a model without operators has no stages");
  return check_passes(stages);
}

Result<StageProgram> assign_calls(const LoweredGraph& lowered, const StagePartition& cut,
                                  const autodiff::TrainingStep& train, std::size_t stages) {
  std::map<NodeId, const KernelCall*> calls;
  for (const KernelCall& call : lowered.calls) calls[call.id] = &call;
  const auto inputs = [&](NodeId id) {
    const auto found = calls.find(id);
    return found == calls.end() ? std::vector<Port>{} : found->second->inputs;
  };
  std::vector<NodeId> results;
  for (const NodeId id : forward_results(train)) results.push_back(lowered.source({id, 0}).node);
  const std::set<NodeId> forward = ancestors(results, inputs);

  StageProgram pieces;
  pieces.stages.resize(stages);
  std::vector<std::vector<NodeId>> wanted(stages);  // of each stage's backward pass, read by other stages
  std::set<std::tuple<std::uint32_t, Port, std::uint32_t>> seen;
  for (const KernelCall& call : lowered.calls) {
    const std::uint32_t to = cut.stage.at(call.id);
    for (const Port& port : call.inputs) {
      const auto producer = calls.find(port.node);
      if (producer == calls.end()) continue;
      const std::uint32_t from = cut.stage.at(port.node);
      if (from == to || !seen.emplace(from, port, to).second) continue;
      const graph::ValueType& type = producer->second->out_types.at(port.slot);
      if (!ElementCount(type.shape).batched) {
        return Error{.code = Code::kUnimplemented,
                     .message = "stage " + std::to_string(to) + " reads " + type.shape.text() + " of '" +
                                producer->second->op + "' in stage " + std::to_string(from) +
                                "; only values with a batch axis may cross stages",
                     .where = {}};
      }
      const bool gradient = !forward.contains(port.node);
      if (gradient) wanted[from].push_back(port.node);
      pieces.edges.push_back({port, from, to, gradient, type});
    }
  }
  std::ranges::sort(pieces.edges, {}, [](const StageEdge& each) { return std::tuple(each.from, each.value, each.to); });
  for (std::uint32_t i = 0; i < stages; ++i) {
    const std::set<NodeId> needed_by_others = ancestors(wanted[i], [&](NodeId id) {
      std::vector<Port> own;
      for (const Port& port : inputs(id)) {
        if (calls.contains(port.node) && cut.stage.at(port.node) == i) own.push_back(port);
      }
      return own;
    });
    StageCalls& stage = pieces.stages[i];
    for (std::size_t pass = 0; pass < 3; ++pass) {
      stage.begin[pass] = stage.calls.size();
      for (const KernelCall& call : lowered.calls) {
        if (cut.stage.at(call.id) != i) continue;
        const std::size_t own = forward.contains(call.id) ? 0 : needed_by_others.contains(call.id) ? 1 : 2;
        if (own == pass) stage.calls.push_back(call);
      }
    }
    stage.begin[3] = stage.calls.size();
  }
  return pieces;
}

}  // namespace lanista::program
