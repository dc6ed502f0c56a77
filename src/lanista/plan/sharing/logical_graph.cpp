#include "lanista/plan/sharing/logical_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/model/graph/flat_graph.h"
#include "lanista/model/graph/infer.h"

namespace lanista::sharing {
namespace {

using graph::HashInput;
using graph::NodeId;
using graph::OpArgs;
using graph::OpDef;
using graph::ValueType;

constexpr std::size_t kMaxMembers = 4096;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
constexpr std::int64_t kMaxSampleBytes = std::int64_t{1} << 40;

std::string trial_text(const FusionMember& member) { return "trial " + std::to_string(member.trial.value); }

Error recipe_error(const FusionMember& member, const std::string& what) {
  return {Code::kInvalidArgument, trial_text(member) + ": " + what, ""};
}

Result<void> check(const FusionMember& member) {
  const StepRecipe& recipe = member.recipe;
  const auto below = [&](const char* name, std::int64_t value, std::int64_t least) -> Result<void> {
    if (value >= least) return {};
    return recipe_error(
        member, std::string(name) + " is " + std::to_string(value) + "; it must be at least " + std::to_string(least));
  };
  LANISTA_TRY(below("batch size", recipe.batch_size, 1));
  LANISTA_TRY(below("local step", recipe.local_step, 0));
  LANISTA_TRY(below("number of remaining epochs", recipe.epochs, 0));
  LANISTA_TRY(below("number of samples", recipe.data.num_samples, 0));
  if (recipe.batch_size > kMaxBatch) {
    return recipe_error(member, "batch size is " + std::to_string(recipe.batch_size) + "; it must be at most " +
                                    std::to_string(kMaxBatch));
  }
  for (const DataStep& step : recipe.data.steps) {
    if (!std::isfinite(step.us_per_sample) || step.us_per_sample < 0) {
      return recipe_error(member, "data step '" + step.text + "' has a time of " + std::to_string(step.us_per_sample) +
                                      " us a sample; it must be finite and at least 0");
    }
    if (step.bytes_per_sample < 0 || step.bytes_per_sample > kMaxSampleBytes) {
      return recipe_error(member, "data step '" + step.text + "' returns " + std::to_string(step.bytes_per_sample) +
                                      " bytes a sample; 0 to 2^40 are allowed");
    }
  }
  for (const auto& [id, digest] : member.frozen) {
    if (!member.model.contains(id))
      return recipe_error(member, "frozen node %" + std::to_string(id.value) + " does not exist in the model");
  }
  return {};
}

/// Adds the input pipeline and the model of one member to the graph.
class Joiner {
 public:
  Joiner(LogicalGraph& graph, const graph::OpTable& ops, std::size_t number)
      : graph_(graph), ops_(ops), number_(number), member_(graph.members[number]), recipe_(member_.recipe) {}

  Result<void> run() {
    LANISTA_TRY(graph::verify(member_.model, ops_));
    LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(member_.model, ops_));
    graph_.nodes_of_member.emplace_back();
    add_samples();
    for (const DataStep& step : recipe_.data.steps) add_data(step);
    for (const NodeId id : member_.model.topo()) add_node(id, types);
    return {};
  }

 private:
  OutputRef last() const { return {graph_.nodes.size() - 1, 0}; }
  const LogicalNode& at(const OutputRef& wire) const { return graph_.nodes[wire.node]; }

  std::size_t push(LogicalNode node, std::optional<NodeId> id) {
    node.owners = {{number_, id}};
    graph_.nodes_of_member[number_].push_back(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }

  static std::shared_ptr<const graph::Node> data_node(std::string text) {
    graph::Node node;
    node.op = std::move(text);
    return std::make_shared<const graph::Node>(std::move(node));
  }

  // The key of this node decides samples, order, local step and precision of all nodes below: their keys contain it.
  void add_samples() {
    const DataKey& data = recipe_.data;
    HashInput key;
    LogicalNode node;
    const Digest samples = key.text("samples").digest(data.dataset).text(data.split).number(precision()).finish();
    node.value = key.digest(samples)
                     .number(data.order_seed)
                     .number(static_cast<std::uint64_t>(recipe_.batch_size))
                     .number(static_cast<std::uint64_t>(recipe_.local_step))
                     .finish();
    key.digest(node.value);
    for (const DataStep& step : data.steps) key.text(step.text).number(step.random ? 1 : 0);
    graph_.stream.push_back(key.finish());
    node.work.operation = data_node("samples");
    node.output_bytes = {0};
    finish_data(std::move(node));
  }

  void add_data(const DataStep& step) {
    HashInput key;
    LogicalNode node;
    node.inputs = {last()};
    node.value = key.text("data").text(step.text).number(step.random ? 1 : 0).digest(at(last()).value).finish();
    node.work.operation = data_node(step.text);
    node.work.host_us = step.us_per_sample * static_cast<double>(recipe_.batch_size);
    node.output_bytes = {step.bytes_per_sample * recipe_.batch_size};
    finish_data(std::move(node));
  }

  void finish_data(LogicalNode node) {
    node.data = true;
    node.prefix = true;
    node.alike = node.value;
    node.work.batch = recipe_.batch_size;
    push(std::move(node), std::nullopt);
  }

  void add_node(NodeId id, const graph::Types& types) {
    const graph::Node& source = member_.model.node(id);
    const OpDef& def = *ops_.find(source.op);
    LogicalNode node;
    node.work.operation = member_.model.nodes()[member_.model.index_of(id)];
    node.work.inputs = types.inputs(source);
    const OpArgs args{node.work.inputs, source.attrs, def};
    const auto params = def.params ? def.params(args) : std::vector<graph::ParamSpec>{};
    const bool own_state = !params.empty() || def.random;
    node.frozen = own_state && member_.frozen.contains(id);
    if (source.inputs.empty()) {
      const std::size_t pipeline_output = graph_.nodes_of_member[number_][recipe_.data.steps.size()];
      node.inputs = {{pipeline_output, 0}};
    } else {
      for (const graph::Port& port : source.inputs) node.inputs.push_back({node_of_port_.at(port.node), port.slot});
    }
    const bool own = own_state && !node.frozen;
    node.prefix = !own;
    for (const OutputRef& wire : node.inputs) {
      node.prefix = node.prefix && at(wire).prefix;
      node.work.input_grad = node.work.input_grad || !at(wire).prefix;
    }
    node.work.weight_grad = !node.frozen && !params.empty();
    if (def.is_linear && node.work.weight_grad && !node.work.input_grad) {
      node.joint_row_bytes =
          types.outputs(id)[0].shape.dims.back() * element_bytes(graph::DType::kReal, recipe_.precision);
    }
    // A sum of two terms has the same bits in both orders. A sum of three has not.
    if (node.prefix && def.commutative && node.inputs.size() == 2) {
      const auto order = [&](const OutputRef& wire) { return std::tuple(at(wire).value, wire.slot); };
      if (order(node.inputs[1]) < order(node.inputs[0])) std::swap(node.inputs[0], node.inputs[1]);
    }
    measure(node, args, params, types.outputs(id));
    name_value(node, def, own, id);
    name_kind(node, args);
    node_of_port_[id] = push(std::move(node), id);
  }

  void measure(LogicalNode& node, const OpArgs& args, const std::vector<graph::ParamSpec>& params,
               const std::vector<ValueType>& outputs) const {
    const std::int64_t batch = recipe_.batch_size;
    const auto bytes = [&](const ValueType& type) {
      return type.shape.elements(batch) * element_bytes(type.dtype, recipe_.precision);
    };
    double in = 0;
    double out = 0;
    for (const ValueType& type : args.inputs) in += static_cast<double>(bytes(type));
    for (const ValueType& type : outputs) {
      node.output_bytes.push_back(bytes(type));
      out += static_cast<double>(bytes(type));
    }
    for (const graph::ParamSpec& spec : params) {
      node.weight_bytes += spec.shape.elements_per_sample() * element_bytes(graph::DType::kReal, recipe_.precision);
    }
    OperatorWork& work = node.work;
    work.batch = batch;
    if (work.operation->is_input() || work.operation->is_output()) return;  // The operator only names a value.
    work.launches = 1.0 + (work.input_grad ? 1 : 0) + (work.weight_grad ? 1 : 0);
    work.flops = work.launches * (args.def.cost ? args.def.cost(args).flops : 0) * static_cast<double>(batch);
    work.in_bytes = in * (1.0 + (work.weight_grad ? 1 : 0));
    work.other_bytes = work.launches * (out + static_cast<double>(node.weight_bytes)) + (work.input_grad ? in : 0);
  }

  // The key is a Merkle hash. Trained weights and random masks are named by trial and node.
  void name_value(LogicalNode& node, const OpDef& def, bool own, NodeId id) const {
    HashInput key;
    graph::hash_operation(*node.work.operation, &def, key);
    key.number(own ? 1 : 0).number(node.frozen ? 1 : 0);
    if (own) key.number(member_.trial.value).number(id.value);
    if (node.frozen) key.digest(member_.frozen.at(id));
    for (const OutputRef& wire : node.inputs) key.digest(at(wire).value).number(wire.slot);
    node.value = key.finish();
  }

  void name_kind(LogicalNode& node, const OpArgs& args) const {
    HashInput key;
    graph::hash_operation(graph::without_lane_attributes(*node.work.operation, ops_), &args.def, key);
    for (const ValueType& type : args.inputs) {
      key.number(static_cast<std::uint64_t>(type.dtype)).number(type.shape.rank());
      for (const std::int64_t dim : type.shape.dims) key.number(static_cast<std::uint64_t>(dim));
    }
    key.number(static_cast<std::uint64_t>(recipe_.batch_size)).number(precision()).number(node.frozen ? 1 : 0);
    node.alike = key.number(node.work.input_grad ? 1 : 0).number(node.work.weight_grad ? 1 : 0).finish();
  }

  std::uint64_t precision() const { return static_cast<std::uint64_t>(recipe_.precision); }

  LogicalGraph& graph_;
  const graph::OpTable& ops_;
  std::size_t number_;
  const FusionMember& member_;
  const StepRecipe& recipe_;
  std::map<NodeId, std::size_t> node_of_port_;
};

}  // namespace

std::vector<std::size_t> LogicalGraph::trained_part(std::size_t member) const {
  std::vector<std::size_t> part;
  for (const std::size_t v : nodes_of_member[member]) {
    if (!nodes[v].prefix) part.push_back(v);
  }
  return part;
}

Result<LogicalGraph> unite(std::vector<FusionMember> members, const graph::OpTable& ops) {
  if (members.empty() || members.size() > kMaxMembers) {
    return Error{
        Code::kInvalidArgument,
        "a plan of " + std::to_string(members.size()) + " trials; 1 to " + std::to_string(kMaxMembers) + " are allowed",
        ""};
  }
  LogicalGraph graph;
  graph.members = std::move(members);
  std::set<TrialId> seen;
  for (std::size_t m = 0; m < graph.members.size(); ++m) {
    const FusionMember& member = graph.members[m];
    if (!seen.insert(member.trial).second) return recipe_error(member, "it is listed twice in one plan");
    LANISTA_TRY(check(member));
    if (auto joined = Joiner(graph, ops, m).run(); !joined) {
      Error error = joined.error();
      error.where = trial_text(member);
      return error;
    }
  }
  return graph;
}

std::size_t merge_equal(LogicalGraph& graph) {
  // Equal nodes of one member are not merged: the n-th of one member is merged with the n-th of another.
  using NodeKey = std::tuple<Digest, std::vector<OutputRef>, std::size_t>;
  std::map<NodeKey, std::size_t> first;
  std::vector<std::size_t> now(graph.nodes.size());
  std::vector<LogicalNode> kept;
  for (std::size_t m = 0; m < graph.members.size(); ++m) {
    std::map<std::pair<Digest, std::vector<OutputRef>>, std::size_t> seen;
    for (std::size_t& v : graph.nodes_of_member[m]) {
      LogicalNode node = graph.nodes[v];
      for (OutputRef& wire : node.inputs) wire.node = now[wire.node];
      std::size_t target = kept.size();
      if (node.prefix && graph.members[m].alone.empty()) {
        const std::size_t occurrence = seen[{node.value, node.inputs}]++;
        target = first.try_emplace({node.value, node.inputs, occurrence}, target).first->second;
      }
      now[v] = target;
      v = target;
      if (target < kept.size()) {
        kept[target].owners.insert(kept[target].owners.end(), node.owners.begin(), node.owners.end());
      } else {
        kept.push_back(std::move(node));
      }
    }
  }
  const std::size_t saved = graph.nodes.size() - kept.size();
  graph.nodes = std::move(kept);
  return saved;
}

std::string node_text(const LogicalNode& node) {
  if (node.data) return node.work.operation->op;
  std::string text = "%" + std::to_string(node.owners.front().node->value) + " " + node.work.operation->op;
  std::string attrs;
  for (const auto& [name, value] : node.work.operation->attrs) {
    attrs += (attrs.empty() ? "" : ", ") + name + "=" + graph::attr_text(value);
  }
  return attrs.empty() ? text : text + "(" + attrs + ")";
}

}  // namespace lanista::sharing
