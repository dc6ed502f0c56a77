#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanista/plan/sharing/plan.h"
#include "lanista/plan/sharing/structure.h"
#include "support/plan/sharing/test_models.h"

namespace lanista::sharing {
namespace {

using testing::backbone_with_head;
using testing::member;
using testing::mlp;
using testing::parsed;

TEST(Explain, ReportsGroupsAndReasons) {
  std::vector<FusionMember> members;
  for (std::uint32_t trial = 1; trial <= 6; ++trial) {
    members.push_back(member(trial, backbone_with_head(trial == 3 ? 12 : 8)));
    for (std::uint32_t id = 1; id <= 4; ++id) members.back().frozen[graph::NodeId{id}] = Digest{9, id};
    members.back().recipe.epochs = 2;
  }
  members[3].frozen.clear();
  members[4].recipe.local_step = 10;
  members[5].alone = "its group failed";

  const std::vector<std::vector<std::size_t>> programs{{0, 1}, {2}, {3}, {4}, {5}};
  const auto plan = plan_of(members, programs, graph::builtin_ops(), plan::Costs());

  ASSERT_TRUE(plan) << plan.error().text();
  const std::string text = explain(*plan);
  for (const std::string part :
       {"plan: trials 1 2 3 4 5 6 in 5 groups, ", "group 1: fused, trials 1 2, ", "group 3: single, trial 4, ",
        "  shared by trials 1 2: samples, read, normalize, %0 input(shape=[1,8,8]), %1 conv2d(out=4) frozen, %2 relu, "
        "%3 conv2d(out=4) frozen, %4 relu, %5 flatten\n",
        "  lanes: trials 1 2, 4 nodes\n", "  one product for all lanes on a CPU with AVX-512: %6 linear(out=8)\n",
        "  alone: trial 3, 4 nodes\n", "  alone: trial 4, 9 nodes\n", "why not:\n",
        "  trial 3 cannot be a lane with trial 1: %6 linear(out=12) against %6 linear(out=8)\n",
        "  trial 5 reads other batches than trial 1: local step 10 against 0\n",
        "  trial 6 runs alone: its group failed\n", "passes: prefix 22\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "is not in\n" << text;
  }
}

/// The texts of the differences between two trials.
struct Texts {
  std::string step, stream;
};

/// Returns the differences of two equal trials after `change` of the second.
Texts difference(void (*change)(FusionMember&)) {
  std::vector<FusionMember> members{member(1, mlp()), member(2, mlp())};
  for (FusionMember& one : members) one.frozen[graph::NodeId{1}] = Digest{4, 4};
  change(members[1]);
  const auto graph = unite(members, graph::builtin_ops());
  if (!graph) return {graph.error().text(), ""};
  return {step_difference(*graph, 0, 1).text, stream_difference(*graph, 0, 1).text};
}

TEST(Difference, IsReportedAsText) {
  EXPECT_EQ(difference([](FusionMember&) {}).step, "");
  EXPECT_EQ(difference([](FusionMember&) {}).stream, "");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.step.loss = "mse"; }).step, "loss cross_entropy against mse");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.step.optimizer = "adamw"; }).step, "optimizer sgd against adamw");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.batch_size = 8; }).step, "batch size 32 against 8");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.precision = Precision::kFloat64; }).step,
            "precision float32 against float64");
  EXPECT_EQ(difference([](FusionMember& m) { m.frozen.clear(); }).step,
            "%3 linear(out=3) against %1 linear(out=16): inputs [N, 16], [N, 8]");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.data.split = "all"; }).stream, "split train against all");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.data.order_seed = 3; }).stream, "data seed 0 against 3");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.local_step = 3; }).stream, "local step 0 against 3");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.data.steps.pop_back(); }).stream,
            "data step normalize against nothing");
  EXPECT_EQ(difference([](FusionMember& m) { m.recipe.data.steps[1].random = true; }).stream,
            "data step normalize against random normalize");
}

TEST(Difference, NamesTheFirstNodeWithOtherInputs) {
  const std::string head = "%0 = input(shape=[8])\n%1 = linear(%0, out=8)\n%2 = relu(%1)\n";
  const std::vector<FusionMember> members{
      member(1, parsed(head + "%3 = tanh(%1)\n%4 = sub(%2, %3)\n%5 = linear(%4, out=3)\n%6 = output(%5)\n")),
      member(2, parsed(head + "%3 = tanh(%1)\n%4 = sub(%3, %2)\n%5 = linear(%4, out=3)\n%6 = output(%5)\n"))};
  const auto graph = unite(members, graph::builtin_ops());
  ASSERT_TRUE(graph);

  const Difference difference = step_difference(*graph, 0, 1);

  EXPECT_EQ(difference.depth, 3U);
  EXPECT_EQ(difference.text, "%4 sub against %4 sub: they read other nodes");
  EXPECT_NE(step_key(*graph, 0), step_key(*graph, 1));
}

}  // namespace
}  // namespace lanista::sharing
