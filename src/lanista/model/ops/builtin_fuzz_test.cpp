#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/text.h"

// For any model text, the built-in operators give types or an error.

namespace lanista::graph {
namespace {

constexpr const char* kSmallCnn =
    "%0 = input(shape=[1,8,8])\n"
    "%1 = conv2d(%0, kernel=[3], out=16, padding=[1]) \"stem\"\n"
    "%2 = relu(%1)\n"
    "%3 = max_pool2d(%2, kernel=[2])\n"
    "%4 = conv2d(%3, kernel=[3], out=32, padding=[1])\n"
    "%5 = relu(%4)\n"
    "%6 = max_pool2d(%5, kernel=[2])\n"
    "%7 = flatten(%6)\n"
    "%8 = linear(%7, out=10)\n"
    "%9 = output(%8)\n";

AttrValue random_value(const AttrSpec& spec, Rng& rng) {
  static constexpr std::int64_t kSizes[] = {-2, -1, 0, 1, 1, 2, 2, 3, 4, 5, 8, 16, 1000, 0x7fffffff};
  const auto size = [&] { return std::max(spec.min, kSizes[rng.below(std::size(kSizes))]); };
  if (rng.bernoulli(0.02)) return std::string("x");
  if (std::holds_alternative<bool>(spec.default_value)) return rng.bernoulli(0.5);
  if (std::holds_alternative<double>(spec.default_value)) return rng.uniform(-0.5, 1.5);
  if (std::holds_alternative<std::int64_t>(spec.default_value)) return size();
  if (std::holds_alternative<std::string>(spec.default_value)) {
    return spec.allowed.empty() ? std::string("y") : spec.allowed[rng.below(spec.allowed.size())];
  }
  std::vector<std::int64_t> list(rng.below(5));
  for (auto& v : list) v = size();
  return list;
}

Graph random_use(const OpDef& def, Rng& rng) {
  static const std::vector<std::vector<std::int64_t>> kShapes = {{4},          {6, 4}, {3, 8, 8},    {4, 1, 1},
                                                                 {2, 3, 4, 5}, {},     {0x7fffffff}, {30000, 30000, 2}};
  GraphBuilder builder;
  const auto& shape = kShapes[rng.below(kShapes.size())];
  std::vector<Port> inputs;
  const int most = def.max_inputs < 0 ? 4 : def.max_inputs;
  for (std::int64_t left = rng.between(def.min_inputs, most); left > 0; --left) {
    const bool other = rng.bernoulli(0.1);
    Attrs input{{"shape", other ? kShapes[rng.below(kShapes.size())] : shape}};
    if (rng.bernoulli(0.2)) input.set("dtype", std::string("index"));
    inputs.push_back({builder.add("input", {}, std::move(input))});
  }
  Attrs attrs;
  for (const AttrSpec& spec : def.attrs) {
    if (spec.role != AttrRole::kDerived && (spec.required || rng.bernoulli(0.5))) {
      attrs.set(spec.name, random_value(spec, rng));
    }
  }
  builder.add(def.name, inputs, attrs);
  return std::move(builder).take();
}

TEST(BuiltinOps, ReturnTypesOrErrorForAnyInput) {
  const OpTable ops = builtin_ops();
  Rng rng(9);
  for (const std::string& name : ops.names()) {
    int fits = 0;
    for (int round = 0; round < 1000; ++round) {
      const Graph graph = random_use(*ops.find(name), rng);
      ASSERT_NO_THROW({
        const auto cost = model_cost(graph, ops);
        if (cost.ok()) {
          ++fits;
          ASSERT_GE(cost->forward.flops, 0) << to_text(graph);
          ASSERT_GE(cost->forward.bytes, 0) << to_text(graph);
          ASSERT_GE(cost->parameters, 0) << to_text(graph);
        } else {
          ASSERT_EQ(cost.error().code, Code::kInvalidArgument) << cost.error().text();
        }
      }) << to_text(graph);
    }
    EXPECT_GT(fits, 0) << name << " never fitted";
  }
}

TEST(BuiltinOps, MakeASmallCnn) {
  const OpTable ops = builtin_ops();
  const auto graph = parse(kSmallCnn);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_TRUE(verify(*graph, ops).ok()) << verify(*graph, ops).error().text();
  EXPECT_EQ(to_text(*graph), kSmallCnn);

  const auto types = infer_shapes(*graph, ops);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ(types->at({NodeId{6}, 0}).shape.text(), "[N, 32, 2, 2]");
  EXPECT_EQ(types->at({NodeId{9}, 0}).shape.text(), "[N, 10]");

  const auto cost = model_cost(*graph, ops);
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->parameters, (9 * 16 + 16) + (9 * 16 * 32 + 32) + (128 * 10 + 10));
}

TEST(BuiltinOps, HashEquallyWithExplicitDefaults) {
  const OpTable ops = builtin_ops();
  const Graph plain = *parse(kSmallCnn);
  Editor edit(plain, ops);
  edit.set(NodeId{1}, "groups", std::int64_t{1});
  edit.set(NodeId{1}, "bias", true);
  edit.set(NodeId{4}, "stride", std::vector<std::int64_t>{1});
  const auto edited = std::move(edit).commit();
  ASSERT_TRUE(edited.ok()) << edited.error().text();
  EXPECT_EQ(canonical_hash(edited->graph, ops), canonical_hash(plain, ops));

  Editor wider(plain, ops);
  wider.set(NodeId{1}, "out", std::int64_t{17});
  EXPECT_NE(canonical_hash(wider.graph(), ops), canonical_hash(plain, ops));
}

TEST(BuiltinOps, SuggestNearestName) {
  const OpTable ops = builtin_ops();
  EXPECT_EQ(ops.nearest("conv2"), "conv2d");
  EXPECT_EQ(ops.nearest("maxpool2d"), "max_pool2d");
  EXPECT_EQ(ops.nearest("batchnorm"), "batch_norm");
}

}  // namespace
}  // namespace lanista::graph
