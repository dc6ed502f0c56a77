// Random models contain each operator, each kind of attribute and each way to use a value.
#include "random_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::testing {
namespace {

constexpr std::uint64_t kModels = 2800;
constexpr int kLeast = 15;  // least number of occurrences of each kind

using Counts = std::map<std::string, int>;

// Returns the kind of an attribute: the length of a list and if its elements differ, the sign of a number and if it is
// the default.
std::string kind_of(const graph::AttrSpec& spec, const graph::AttrValue& value) {
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    const bool even = std::ranges::all_of(*list, [&](std::int64_t v) { return v == list->front(); });
    return std::to_string(list->size()) + (even ? " even" : " uneven");
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return *integer == spec.min && spec.min >= 0 ? "least" : *integer < 0 ? "negative" : "more";
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return *real == 0 ? "zero" : *real < 0 ? "negative" : "positive";
  }
  return graph::attr_text(value);
}

// Returns the kinds of an attribute that must occur. Lists have rows of their own, since their lengths mean different
// things.
std::vector<std::string> required_kinds(const std::string& op, const graph::AttrSpec& spec) {
  if (std::holds_alternative<bool>(spec.default_value)) return {"true", "false"};
  if (std::holds_alternative<std::string>(spec.default_value)) {
    std::vector<std::string> all;
    for (const std::string& allowed : spec.allowed) all.push_back(graph::attr_text(allowed));
    return all;
  }
  if (std::holds_alternative<std::int64_t>(spec.default_value)) {
    if (spec.min < 0) return {"negative", "more"};
    return {"least", "more"};
  }
  if (std::holds_alternative<double>(spec.default_value)) return {"positive"};
  const bool row = op.ends_with("1d");
  if (spec.name == "padding" && !row) return {"1 even", "2 uneven", "4 uneven"};
  if (spec.name == "pads") return {"4 uneven"};
  if (op == "transpose") return {"2 uneven", "3 uneven", "4 uneven", "5 uneven"};
  if (spec.name == "shape" || spec.name == "axes") return {"1 even", "2 uneven", "3 uneven"};
  return {"1 even", "2 even", "2 uneven"};
}

void count_attrs(const graph::OpDef& def, const graph::Node& node, Counts& counts) {
  for (const graph::AttrSpec& spec : def.attrs) {
    if (spec.role == graph::AttrRole::kDerived) continue;
    const std::string name = node.op + "." + spec.name + ": ";
    const graph::AttrValue* written = node.attrs.find(spec.name);
    if (written == nullptr) {
      ++counts[name + "absent"];
      if (!std::holds_alternative<std::vector<std::int64_t>>(spec.default_value)) {
        ++counts[name + kind_of(spec, spec.default_value)];
      }
    } else {
      ++counts[name + kind_of(spec, *written)];
    }
  }
}

// "add uses one value at 0 and 2", "a value has 3 uses".
void count_uses(const graph::Graph& model, const graph::Node& node, Counts& counts) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    for (std::size_t j = i + 1; j < node.inputs.size(); ++j) {
      if (node.inputs[i] != node.inputs[j]) continue;
      ++counts[node.op + " uses one value at " + std::to_string(i) + " and " + std::to_string(j)];
    }
  }
  std::set<graph::NodeId> users;
  for (const graph::Use use : model.consumers(node.id)) users.insert(use.node);
  ++counts["a value is read by " + std::to_string(users.size())];
}

Counts count_models() {
  const graph::OpTable ops = graph::builtin_ops();
  Counts counts;
  for (std::uint64_t seed = 0; seed < kModels; ++seed) {
    const graph::Graph model = random_model(Rng(seed), ops, {.classes = seed % 2 == 0});
    const graph::Types types = *graph::infer_shapes(model, ops);
    for (const auto& node : model.nodes()) {
      const graph::OpDef& def = *ops.find(node->op);
      ++counts[node->op];
      for (const graph::Port port : node->inputs) {
        ++counts[node->op + " of rank " + std::to_string(types.at(port).shape.rank())];
        if (port.slot > 0) ++counts["an output above the first"];
      }
      count_attrs(def, *node, counts);
      count_uses(model, *node, counts);
    }
  }
  return counts;
}

const Counts& counted() {
  static const Counts kCounts = count_models();
  return kCounts;
}

void expect_often(const std::string& what) {
  const auto found = counted().find(what);
  EXPECT_GE(found == counted().end() ? 0 : found->second, kLeast) << what;
}

TEST(RandomModels, ContainEachOperatorAndAttributeKind) {
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    if (name == "log" || name == "sqrt") continue;  // NaN of negative numbers; test_models.cpp has them
    expect_often(name);
    for (const graph::AttrSpec& spec : ops.find(name)->attrs) {
      if (spec.role == graph::AttrRole::kDerived) continue;
      if (!spec.required) expect_often(name + "." + spec.name + ": absent");
      for (const std::string& kind : required_kinds(name, spec)) expect_often(name + "." + spec.name + ": " + kind);
    }
  }
}

TEST(RandomModels, UseValuesInEachWay) {
  for (const std::string op : {"add", "concat"}) {
    for (const auto* pair : {"0 and 1", "0 and 2", "1 and 2", "1 and 3", "2 and 3"}) {
      expect_often(op + " uses one value at " + pair);
    }
  }
  for (const std::string op : {"mul", "sub", "div", "matmul"}) expect_often(op + " uses one value at 0 and 1");
  for (const auto* users : {"1", "2", "3", "4"}) expect_often(std::string("a value is read by ") + users);
}

TEST(RandomModels, ReachEveryRank) {
  for (const std::string norm : {"batch_norm", "group_norm"}) {
    for (const auto* rank : {"2", "4"}) expect_often(norm + " of rank " + rank);
  }
  for (const std::string op : {"layer_norm", "softmax", "add", "concat", "slice", "mean", "transpose", "flatten"}) {
    for (const auto* rank : {"2", "3", "4", "5"}) expect_often(op + " of rank " + rank);
  }
  for (const std::string op : {"scale", "matmul"}) {
    for (const auto* rank : {"3", "4", "5"}) expect_often(op + " of rank " + rank);
  }
}

TEST(RandomModels, RoundTripThroughTextAndSeed) {
  const graph::OpTable ops = graph::builtin_ops();
  std::set<std::string> different;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const graph::Graph model = random_model(Rng(seed), ops);
    const auto read = graph::parse(graph::to_text(model));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, model);
    EXPECT_EQ(random_model(Rng(seed), ops), model);
    different.insert(graph::to_text(model));
  }
  EXPECT_GE(different.size(), 198U);
}

TEST(RandomModels, RespectOptions) {
  const graph::OpTable ops = graph::builtin_ops();
  const RandomModelOptions options{
      .max_operators = 5, .max_elements = 40, .classes = true, .without = {"mul", "conv2d"}};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const graph::Graph model = random_model(Rng(seed), ops, options);
    const graph::Types types = *graph::infer_shapes(model, ops);
    for (const auto& node : model.nodes()) {
      EXPECT_FALSE(options.without.contains(node->op));
      if (node->op != "output") continue;
      const graph::Shape& shape = types.at({node->id}).shape;
      EXPECT_EQ(shape.rank(), 2U);
      EXPECT_GE(shape.dims[1], 2);
    }
  }
}

}  // namespace
}  // namespace lanista::testing
