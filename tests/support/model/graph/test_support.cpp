#include "support/model/graph/test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/text.h"

namespace lanista::graph::testing {
namespace {

using Types = std::vector<ValueType>;

Result<Types> same(const OpArgs& args) {
  for (const ValueType& type : args.inputs) {
    if (type == args.inputs.front()) continue;
    return Error{Code::kInvalidArgument,
                 "inputs differ: " + args.inputs.front().shape.text() + " and " + type.shape.text(), ""};
  }
  return Types{args.inputs.front()};
}

OpDef op(std::string name, int min_inputs, int max_inputs) {
  OpDef def;
  def.name = std::move(name);
  def.min_inputs = min_inputs;
  def.max_inputs = max_inputs;
  def.infer = same;
  return def;
}

AttrSpec attr(std::string name, AttrValue default_value, bool required, std::int64_t min) {
  AttrSpec spec;
  spec.name = std::move(name);
  spec.default_value = std::move(default_value);
  spec.required = required;
  spec.min = min;
  return spec;
}

OpDef source(std::string name, bool batched) {
  OpDef def = op(std::move(name), 0, 0);
  def.attrs = {attr("shape", std::vector<std::int64_t>{}, true, 1)};
  def.infer = [batched](const OpArgs& args) -> Result<Types> {
    Shape shape{args.list("shape")};
    if (batched) shape.dims.insert(shape.dims.begin(), kBatch);
    return Types{{shape, DType::kReal}};
  };
  return def;
}

OpDef linear() {
  OpDef def = op("linear", 1, 1);
  def.attrs = {attr("out", std::int64_t{0}, true, 1), attr("bias", true, false, 0)};
  def.attrs.push_back(attr("in", std::int64_t{0}, false, 0));
  def.attrs.back().role = AttrRole::kDerived;
  def.infer = [](const OpArgs& args) -> Result<Types> {
    const Shape& in = args.inputs[0].shape;
    if (in.rank() != 2) return Error{Code::kInvalidArgument, "needs [N, features]", ""};
    return Types{{Shape{{kBatch, args.integer("out")}}, DType::kReal}};
  };
  def.params = [](const OpArgs& args) {
    const std::int64_t in = args.inputs[0].shape.dims[1];
    const std::int64_t out = args.integer("out");
    std::vector<ParamSpec> params{{"weight", Shape{{out, in}}, true, Init::kUniformFanIn, in}};
    if (args.flag("bias")) params.push_back({"bias", Shape{{out}}, true, Init::kUniformFanIn, in});
    return params;
  };
  def.cost = [](const OpArgs& args) {
    return Cost{2.0 * static_cast<double>(args.inputs[0].shape.dims[1] * args.integer("out")), 0};
  };
  return def;
}

OpDef scale() {
  OpDef def = op("scale", 1, 1);
  def.attrs = {attr("by", 1.0, false, 0), attr("mode", std::string("up"), false, 0)};
  def.attrs[1].allowed = {"up", "down"};
  return def;
}

OpDef split() {
  OpDef def = op("split", 1, 1);
  def.infer = [](const OpArgs& args) -> Result<Types> { return Types{args.inputs[0], args.inputs[0]}; };
  return def;
}

}  // namespace

Graph parsed(std::string_view text) {
  auto graph = parse(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  return *std::move(graph);
}

OpTable small_ops() {
  OpDef add = op("add", 2, -1);
  OpDef mul = op("mul", 2, 2);
  OpDef relu_grad = op("relu_grad", 2, 2);
  OpDef parameter = source("parameter", false);
  add.commutative = mul.commutative = true;
  relu_grad.level = parameter.level = OpLevel::kStep;

  OpTable ops;
  for (OpDef& def : std::vector<OpDef>{source("input", true), op("output", 1, 1), linear(), op("relu", 1, 1),
                                       op("gelu", 1, 1), scale(), std::move(add), std::move(mul), op("join", 2, 2),
                                       split(), std::move(parameter), std::move(relu_grad)}) {
    const auto added = ops.add(std::move(def));
    LANISTA_CHECK(added.ok(), "test operators contradict each other");
  }
  return ops;
}

Graph small_model() {
  GraphBuilder builder;
  const NodeId input = builder.add("input", {}, {{"shape", std::vector<std::int64_t>{4}}});
  const NodeId hidden = builder.add("linear", {{input}}, {{"out", 8}}, "hidden");
  const NodeId relu = builder.add("relu", {{hidden}});
  const NodeId head = builder.add("linear", {{relu}}, {{"out", 3}});
  builder.add("output", {{head}});
  return std::move(builder).take();
}

Graph random_model(Rng& rng) {
  static constexpr const char* kLabels[] = {"", "", "stem", "two words", "a \"quote\" \\ # %1\n\t\x01\x7f\xc3\xa9"};
  GraphBuilder builder;
  std::vector<Port> values;
  std::set<Port> unread;
  const auto add = [&](std::string op, std::vector<Port> inputs, Attrs attrs, std::uint32_t num_outputs) {
    if (rng.bernoulli(0.2)) {
      builder.reserve_ids(NodeId{builder.peek().next_id().value + static_cast<std::uint32_t>(rng.below(5))});
    }
    for (const Port& port : inputs) unread.erase(port);
    const NodeId id = builder.add(std::move(op), std::move(inputs), std::move(attrs), kLabels[rng.below(5)]);
    for (std::uint32_t slot = 0; slot < num_outputs; ++slot) values.push_back({id, slot});
    unread.insert({id, 0});
  };
  const auto any = [&] { return values[rng.below(values.size())]; };

  add("input", {}, {{"shape", std::vector<std::int64_t>{4}}}, 1);
  for (std::int64_t left = rng.between(1, 24); left > 0; --left) {
    switch (rng.below(7)) {
      case 0:
        add("relu", {any()}, {}, 1);
        break;
      case 1:
        add("linear", {any()}, rng.bernoulli(0.5) ? Attrs{{"out", 4}} : Attrs{{"out", 4}, {"bias", false}}, 1);
        break;
      case 2:
        add("scale", {any()}, {{"by", rng.normal()}, {"mode", "down"}}, 1);
        break;
      case 3:
        add("add", {any(), any(), any()}, {}, 1);
        break;
      case 4:
        add("mul", {any(), any()}, {}, 1);
        break;
      case 5:
        add("join", {any(), any()}, {}, 1);
        break;
      default:
        add("split", {any()}, {}, 2);
        break;
    }
  }
  // Nodes without users so far. A node with a used second output has users.
  std::vector<Port> ends;
  for (const Port& port : unread) {
    if (builder.peek().consumers(port.node).empty()) ends.push_back(port);
  }
  if (ends.size() > 1) {
    add("add", ends, {}, 1);
    ends = {values.back()};
  }
  add("output", ends, {}, 0);
  if (rng.bernoulli(0.3)) builder.reserve_ids(NodeId{builder.peek().next_id().value + 7});
  return std::move(builder).take();
}

Graph renamed(const Graph& graph, const OpTable& ops, Rng& rng) {
  const auto ids = graph.ids();
  const auto places = rng.permutation(static_cast<std::uint32_t>(ids.size()));
  std::map<NodeId, NodeId> to;
  for (std::size_t i = 0; i < ids.size(); ++i) to[ids[i]] = NodeId{places[i] * 3 + 1};

  GraphBuilder builder;
  for (const auto& node : graph.nodes()) {
    Node copy = *node;
    copy.id = to.at(node->id);
    copy.label.clear();
    for (Port& port : copy.inputs) port.node = to.at(port.node);
    if (ops.find(copy.op)->commutative) {
      const auto order = rng.permutation(static_cast<std::uint32_t>(copy.inputs.size()));
      for (std::size_t i = 0; i < order.size(); ++i)
        copy.inputs[i] = Port{to.at(node->inputs[order[i]].node), node->inputs[order[i]].slot};
    }
    builder.put(std::move(copy));
  }
  return std::move(builder).take();
}

}  // namespace lanista::graph::testing
