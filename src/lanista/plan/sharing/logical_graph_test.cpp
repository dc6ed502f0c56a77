#include "lanista/plan/sharing/logical_graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/plan/sharing/test_models.h"

namespace lanista::sharing {
namespace {

using testing::member;
using testing::mlp;
using testing::parsed;

/// Returns the error of unite, or an empty error.
Error refusal(const std::vector<FusionMember>& members) {
  const auto graph = unite(members, graph::builtin_ops());
  return graph ? Error{} : graph.error();
}

/// Returns the error for one trial after `change`.
Error refusal_of(void (*change)(FusionMember&)) {
  FusionMember one = member(3, mlp());
  change(one);
  return refusal({one});
}

TEST(Union, HasEveryNodeOfEveryTrial) {
  const auto graph = unite({member(1, mlp()), member(2, mlp(20))}, graph::builtin_ops());

  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes.size(), 2U * (3 + 5));  // Samples, two data steps and five nodes.
  EXPECT_EQ(graph->trained_part(0).size(), 4U);  // All except the input.
  EXPECT_EQ(node_text(graph->nodes[graph->trained_part(1).front()]), "%1 linear(out=20)");
}

TEST(Union, RefusesTrialsThatCannotBePlanned) {
  EXPECT_EQ(refusal({}).message, "a plan of 0 trials; 1 to 4096 are allowed");
  EXPECT_EQ(refusal({member(3, mlp()), member(3, mlp())}).message, "trial 3: it is listed twice in one plan");
  EXPECT_EQ(refusal_of([](FusionMember& m) { m.recipe.batch_size = 0; }).message,
            "trial 3: batch size is 0; it must be at least 1");
  EXPECT_EQ(refusal_of([](FusionMember& m) { m.recipe.batch_size = 1 << 21; }).message,
            "trial 3: batch size is 2097152; it must be at most 1048576");
  EXPECT_EQ(refusal_of([](FusionMember& m) { m.recipe.local_step = -1; }).message,
            "trial 3: local step is -1; it must be at least 0");
  EXPECT_EQ(refusal_of([](FusionMember& m) { m.recipe.epochs = -1; }).message,
            "trial 3: number of remaining epochs is -1; it must be at least 0");
  EXPECT_EQ(refusal_of([](FusionMember& m) { m.recipe.data.num_samples = -1; }).message,
            "trial 3: number of samples is -1; it must be at least 0");
  EXPECT_EQ(refusal_of([](FusionMember& m) { m.frozen[graph::NodeId{9}] = {}; }).message,
            "trial 3: frozen node %9 does not exist in the model");
  EXPECT_EQ(refusal_of([](FusionMember& m) {
              m.recipe.data.steps[0].us_per_sample = std::numeric_limits<double>::quiet_NaN();
            }).message,
            "trial 3: data step 'read' has a time of nan us a sample; it must be finite and at least 0");
  EXPECT_EQ(refusal_of([](FusionMember& m) { m.recipe.data.steps[1].bytes_per_sample = -1; }).message,
            "trial 3: data step 'normalize' returns -1 bytes a sample; 0 to 2^40 are allowed");
}

TEST(Union, NamesTheTrialWithAnInvalidModel) {
  const Error error = refusal({member(1, mlp()), member(2, parsed("%0 = input(shape=[8])\n"))});

  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_EQ(error.where, "trial 2");
}

TEST(Union, SharesOnlyWhatAgreesInEveryRule) {
  const auto saved = [](auto change) {
    std::vector<FusionMember> members{member(1, mlp()), member(2, mlp())};
    members[0].frozen[graph::NodeId{1}] = members[1].frozen[graph::NodeId{1}] = Digest{4, 4};
    change(members[1]);
    return testing::nodes_saved(members);
  };

  EXPECT_EQ(saved([](FusionMember&) {}), 6U);  // Samples, read, normalize, input, frozen linear and relu.
  EXPECT_EQ(saved([](FusionMember& m) { m.frozen[graph::NodeId{1}] = Digest{4, 5}; }), 4U);  // Other weights.
  EXPECT_EQ(saved([](FusionMember& m) { m.frozen.clear(); }), 4U);                           // Trained.
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.data.steps[1].text = "scale"; }), 2U);
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.data.steps[1].random = true; }), 2U);
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.data.dataset = Digest{5, 5}; }), 0U);
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.data.split = "all"; }), 0U);
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.data.order_seed = 2; }), 0U);
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.batch_size = 8; }), 0U);
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.local_step = 1; }), 0U);
  EXPECT_EQ(saved([](FusionMember& m) { m.recipe.precision = Precision::kFloat64; }), 0U);
  EXPECT_EQ(saved([](FusionMember& m) { m.alone = "its group failed"; }), 0U);
}

TEST(Union, TreatsASumOfTwoAsCommutativeAndOfThreeAsOrdered) {
  const auto saved = [](const std::string& first, const std::string& second) {
    const std::string head = "%0 = input(shape=[8])\n%1 = relu(%0)\n%2 = tanh(%0)\n%3 = ";
    const std::string tail = "\n%4 = linear(%3, out=3)\n%5 = output(%4)\n";
    const std::vector<FusionMember> members{member(1, parsed(head + first + tail)),
                                            member(2, parsed(head + second + tail))};
    return testing::nodes_saved(members);
  };

  EXPECT_EQ(saved("add(%1, %2)", "add(%2, %1)"), 7U);
  EXPECT_EQ(saved("sub(%1, %2)", "sub(%2, %1)"), 6U);
  EXPECT_EQ(saved("add(%0, %1, %2)", "add(%0, %2, %1)"), 6U);
}

TEST(Union, PairsAlikeNodesOfOneModelOneByOne) {
  const graph::Graph twice = parsed(
      "%0 = input(shape=[8])\n%1 = relu(%0)\n%2 = relu(%0)\n%3 = sub(%1, %2)\n%4 = linear(%3, out=3)\n"
      "%5 = output(%4)\n");
  auto graph = unite({member(1, twice), member(2, twice)}, graph::builtin_ops());
  ASSERT_TRUE(graph);

  EXPECT_EQ(merge_equal(*graph), 7U);
  for (const LogicalNode& node : graph->nodes) EXPECT_EQ(node.owners.size(), node.prefix ? 2U : 1U) << node_text(node);
}

}  // namespace
}  // namespace lanista::sharing
