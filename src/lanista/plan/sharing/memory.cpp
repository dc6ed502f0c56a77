#include "lanista/plan/sharing/memory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "lanista/model/autodiff/memory_plan.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/plan/sharing/structure.h"

namespace lanista::fuse {
namespace {

using graph::NodeId;
using graph::Port;

// Beyond a terabyte all values are equally hopeless, and sums of them stay far from overflow.
constexpr std::int64_t kMaxValueBytes = std::int64_t{1} << 40;

std::int64_t clipped(std::int64_t bytes) { return std::min(bytes, kMaxValueBytes); }

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

std::int64_t times(std::int64_t a, std::size_t b) {
  std::int64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, static_cast<std::int64_t>(b), &product);
  return overflow ? std::numeric_limits<std::int64_t>::max() : product;
}

std::int64_t value_bytes(const graph::ValueType& type, const StepRecipe& recipe) {
  // A parameter has no batch; a value has at most 2^31 elements a sample and 2^20 samples.
  return clipped(type.shape.elements(recipe.batch_size) * element_bytes(type.dtype, recipe.precision));
}

// Model nodes that the member trains or goes back through.
std::set<NodeId> trained_nodes(const LogicalGraph& graph, std::size_t member) {
  std::set<NodeId> nodes;
  for (const std::size_t v : graph.trained_part(member)) {
    for (const Owner& owner : graph.nodes[v].owners) {
      if (owner.member == member) nodes.insert(*owner.node);
    }
  }
  return nodes;
}

}  // namespace

MemoryModel::MemoryModel(const graph::OpTable& ops, const Limits& limits)
    : ops_(step::training_ops(ops)), shared_activations_(limits.shared_activations) {}

Result<void> MemoryModel::add_member(const LogicalGraph& graph, std::size_t member) {
  const Digest key = step_key(graph, member);
  if (const auto known = by_structure_.find(key); known != by_structure_.end()) {
    by_member_[member] = known->second;
    return {};
  }
  const FusionMember& who = graph.members[member];
  auto derived = step::derive_training_step(who.model, who.recipe.step, ops_);
  if (!derived) {
    Error error = std::move(derived).error();
    error.where = "trial " + std::to_string(who.trial.value);
    return error;
  }
  const step::TrainingStep& step = *derived;
  const std::set<NodeId> trained = trained_nodes(graph, member);
  const auto outside = [&](NodeId id) {
    const auto origin = step.origin.find(id);
    return origin != step.origin.end() && !trained.contains(origin->second);
  };

  StepBytes bytes;
  std::vector<Port> keep{step.prediction};
  const std::size_t slots = step::find_optimizer(who.recipe.step.optimizer)->slots.size();
  for (const step::StateTensor& tensor : step.state) {
    if (outside(tensor.node)) continue;
    const auto gradient = step.gradient.find(tensor.node);
    const bool updated = gradient != step.gradient.end() && !who.frozen.contains(step.origin.at(tensor.node));
    bytes.state = plus(bytes.state,
                       times(value_bytes(step.types.at({tensor.node, 0}), who.recipe), 1 + (updated ? 1 + slots : 0)));
    bytes.weights = plus(bytes.weights, value_bytes(step.types.at({tensor.node, 0}), who.recipe));
    if (updated) keep.push_back(gradient->second);
  }
  std::vector<NodeId> order = step.compute;
  std::erase_if(order, outside);
  const auto size = [&](Port port) { return value_bytes(step.types.at(port), who.recipe); };
  const auto outputs = [&](NodeId id) {
    std::vector<Port> ports;
    for (std::uint32_t slot = 0; slot < step.types.outputs(id).size(); ++slot) ports.push_back({id, slot});
    return ports;
  };
  bytes.activations = step::plan_memory(step.graph, order, keep, size, outputs).bytes;
  by_structure_[key] = bytes;
  by_member_[member] = bytes;
  return {};
}

std::int64_t MemoryModel::bytes(const LogicalGraph& graph, std::span<const PlannedProgram> programs) const {
  std::int64_t sum = prefix_bytes(graph, programs);
  for (const PlannedProgram& program : programs) {
    const StepBytes& step = by_member_.at(program.members.front());
    sum = plus(sum, times(step.state, program.members.size()));
    for (const std::size_t member : program.members) {
      if (graph.members[member].recipe.keeps_best_epoch) sum = plus(sum, step.weights);
    }
    sum = plus(sum, times(step.activations, shared_activations_ ? 1 : program.members.size()));
  }
  return sum;
}

// The prefix of all members as one graph: each node once, weights beside; what the programs read lives to the end.
std::int64_t MemoryModel::prefix_bytes(const LogicalGraph& graph, std::span<const PlannedProgram> programs) const {
  std::set<std::size_t> nodes;
  std::set<Port> keep;
  const auto port = [](const OutputRef& wire) {
    return Port{NodeId{static_cast<std::uint32_t>(wire.node)}, wire.slot};
  };
  for (const PlannedProgram& program : programs) {
    for (const std::size_t member : program.members) {
      for (const std::size_t v : graph.nodes_of_member[member]) {
        if (graph.nodes[v].prefix) {
          nodes.insert(v);
          continue;
        }
        for (const OutputRef& wire : graph.nodes[v].inputs) {
          if (graph.nodes[wire.node].prefix) keep.insert(port(wire));
        }
      }
    }
  }
  graph::GraphBuilder builder;
  std::vector<NodeId> order;
  std::int64_t weights = 0;
  for (const std::size_t v : nodes) {
    const LogicalNode& node = graph.nodes[v];
    graph::Node copy;
    copy.id = NodeId{static_cast<std::uint32_t>(v)};
    for (const OutputRef& wire : node.inputs) copy.inputs.push_back(port(wire));
    order.push_back(copy.id);
    builder.put(std::move(copy));
    weights = plus(weights, clipped(node.weight_bytes));
  }
  const auto size = [&](Port p) { return clipped(graph.nodes[p.node.value].output_bytes[p.slot]); };
  const auto outputs = [&](NodeId id) {
    std::vector<Port> ports;
    for (std::uint32_t slot = 0; slot < graph.nodes[id.value].output_bytes.size(); ++slot) ports.push_back({id, slot});
    return ports;
  };
  const std::vector<Port> kept(keep.begin(), keep.end());
  return plus(weights, step::plan_memory(std::move(builder).take(), order, kept, size, outputs).bytes);
}

}  // namespace lanista::fuse
