#include "lanista/plan/sharing/memory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "lanista/model/autodiff/memory_plan.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/plan/sharing/structure.h"

namespace lanista::sharing {
namespace {

using graph::NodeId;
using graph::Port;

// No value above 2^40 bytes fits into memory. The limit keeps sums of many values below 2^63.
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
  // The product does not overflow: a value has at most 2^31 elements a sample and 2^20 samples.
  return clipped(type.shape.elements(recipe.batch_size) * element_bytes(type.dtype, recipe.precision));
}

/// Returns the nodes of the model that the member trains or computes gradients through.
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

MemoryModel::MemoryModel(const graph::OpTable& ops) : ops_(autodiff::training_ops(ops)) {}

Result<void> MemoryModel::add_member(const LogicalGraph& graph, std::size_t member) {
  const Digest key = step_key(graph, member);
  if (const auto known = by_structure_.find(key); known != by_structure_.end()) {
    by_member_[member] = known->second;
    return {};
  }
  const FusionMember& planned = graph.members[member];
  auto derived = autodiff::derive_training_step(planned.model, planned.recipe.step, ops_);
  if (!derived) {
    Error error = std::move(derived).error();
    error.where = "trial " + std::to_string(planned.trial.value);
    return error;
  }
  const autodiff::TrainingStep& step = *derived;
  const std::set<NodeId> trained = trained_nodes(graph, member);
  const auto outside = [&](NodeId id) {
    const auto origin = step.origin.find(id);
    return origin != step.origin.end() && !trained.contains(origin->second);
  };

  StepBytes bytes;
  std::vector<Port> keep{step.prediction};
  const std::size_t slots = autodiff::find_optimizer(planned.recipe.step.optimizer)->slots.size();
  for (const autodiff::StateTensor& tensor : step.state) {
    if (outside(tensor.node)) continue;
    const auto gradient = step.gradient.find(tensor.node);
    const bool updated = gradient != step.gradient.end() && !planned.frozen.contains(step.origin.at(tensor.node));
    bytes.state = plus(bytes.state, times(value_bytes(step.types.at({tensor.node, 0}), planned.recipe),
                                          1 + (updated ? 1 + slots : 0)));
    bytes.weights = plus(bytes.weights, value_bytes(step.types.at({tensor.node, 0}), planned.recipe));
    if (updated) keep.push_back(gradient->second);
  }
  std::vector<NodeId> order = step.compute;
  std::erase_if(order, outside);
  const auto size = [&](Port port) { return value_bytes(step.types.at(port), planned.recipe); };
  const auto outputs = [&](NodeId id) {
    std::vector<Port> ports;
    for (std::uint32_t slot = 0; slot < step.types.outputs(id).size(); ++slot) ports.push_back({id, slot});
    return ports;
  };
  bytes.activations = autodiff::plan_memory(step.graph, order, keep, size, outputs).bytes;
  by_structure_[key] = bytes;
  by_member_[member] = bytes;
  return {};
}

std::int64_t MemoryModel::bytes(const LogicalGraph& graph, const PlannedProgram& program) const {
  const StepBytes& step = by_member_.at(program.members.front());
  std::int64_t sum = plus(prefix_bytes(graph, program), times(step.state, program.members.size()));
  for (const std::size_t member : program.members) {
    if (graph.members[member].recipe.keeps_best_epoch) sum = plus(sum, step.weights);
  }
  return plus(sum, step.activations);
}

/// Returns the bytes of the shared prefix with its weights. Each node counts once. Values that the trained part reads
/// live until the end of the step.
std::int64_t MemoryModel::prefix_bytes(const LogicalGraph& graph, const PlannedProgram& program) const {
  std::set<std::size_t> nodes;
  std::set<Port> keep;
  const auto port = [](const OutputRef& wire) {
    return Port{NodeId{static_cast<std::uint32_t>(wire.node)}, wire.slot};
  };
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
  return plus(weights, autodiff::plan_memory(std::move(builder).take(), order, kept, size, outputs).bytes);
}

}  // namespace lanista::sharing
