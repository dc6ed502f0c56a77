#include "lanista/plan/sharing/plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/plan/sharing/test_models.h"

namespace lanista::sharing {
namespace {

using testing::backbone_with_head;
using testing::member;
using testing::mlp;
using testing::one_program;
using testing::ops;
using testing::parsed;
using testing::planned;

std::vector<FusionMember> equal_members(std::size_t size) {
  std::vector<FusionMember> members;
  for (std::size_t i = 1; i <= size; ++i) members.push_back(member(static_cast<std::uint32_t>(i), mlp()));
  return members;
}

/// Returns a plan at exact prices in microseconds: a data step as given, a frozen convolution `frozen`, a trained layer
/// `trained`.
FusionPlan planned_at(double frozen, double trained, const std::vector<FusionMember>& members) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  plan::Costs costs{.table = {}, .machine = {}, .prices = {.gflops = kNoTime, .gb_per_second = kNoTime, .call_us = 0}};
  const auto graph = unite(members, ops());
  LANISTA_CHECK(graph.ok(), graph ? "" : graph.error().text());
  for (const LogicalNode& node : graph->nodes) {
    if (!node.work.weight_grad && node.work.operation->op != "conv2d") continue;
    plan::CostKey key;
    key.work = work_text(node.work);
    costs.table.put(key, {node.work.weight_grad ? trained : frozen, 0, 0, 1});
  }
  return planned(members, one_program(members.size()), costs);
}

/// Returns trials with one frozen backbone and heads of equal width.
std::vector<FusionMember> frozen_backbones(std::size_t size) {
  std::vector<FusionMember> members;
  for (std::size_t i = 1; i <= size; ++i) {
    members.push_back(member(static_cast<std::uint32_t>(i), backbone_with_head()));
    members.back().recipe.data.steps.clear();
    for (std::uint32_t id = 1; id <= 5; ++id) members.back().frozen[graph::NodeId{id}] = Digest{9, id};
  }
  return members;
}

TEST(FusionPlan, AcceptsLanesThatDifferInNumbersOfALane) {
  const auto with = [](std::uint32_t trial, const std::string& p) {
    return member(trial, parsed("%0 = input(shape=[64])\n%1 = linear(%0, out=16)\n%2 = dropout(%1" + p +
                                ")\n%3 = linear(%2, out=10)\n%4 = output(%3)\n"));
  };
  const FusionPlan plan = planned({with(1, ""), with(2, ", p=0.1"), with(3, ", p=0.9")}, one_program(3));
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].form(), GroupForm::kFused);
}

TEST(FusionPlan, MakesLanesOfEqualModels) {
  const FusionPlan plan = planned(equal_members(5), one_program(5));

  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].form(), GroupForm::kFused);
  EXPECT_EQ(plan.groups[0].program.members, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(plan.groups[0].parts.size(), 5U);
  EXPECT_TRUE(plan.groups[0].program.same_ids);
  EXPECT_LT(plan.us(), plan.alone_us);
}

TEST(FusionPlan, AcceptsLanesWithOtherNodeIds) {
  std::vector<FusionMember> members = equal_members(2);
  members[1].model = parsed(
      "%7 = input(shape=[8])\n%3 = linear(%7, out=16)\n%9 = relu(%3)\n%5 = linear(%9, out=3)\n%6 = output(%5)\n");

  const FusionPlan plan = planned(members, one_program(2));

  EXPECT_FALSE(plan.groups[0].program.same_ids);
}

// With a prefix of p us and heads of h us, K trials need K (p + h) alone and p + K h together.
TEST(FusionPlan, ComputesASharedInputPipelineOnce) {
  const double p = 10 * 32;
  std::vector<FusionMember> members;
  for (std::uint32_t k = 1; k <= 6; ++k) members.push_back(member(k, mlp()));  // Two trained layers each.

  const FusionPlan plan = planned_at(0, 25, members);

  EXPECT_DOUBLE_EQ(plan.alone_us, 6 * (p + 50));
  EXPECT_DOUBLE_EQ(plan.us(), p + 6 * 50);
}

TEST(FusionPlan, SharesAFrozenBackbone) {
  const FusionPlan plan = planned_at(100, 10, frozen_backbones(4));

  EXPECT_DOUBLE_EQ(plan.alone_us, 4 * (2 * 100 + 2 * 10));  // Two convolutions and two trained layers each.
  EXPECT_DOUBLE_EQ(plan.us(), 2 * 100 + 4 * 20);
}

TEST(FusionPlan, SharesNoBackboneWithOtherWeights) {
  std::vector<FusionMember> members = frozen_backbones(2);
  members[1].frozen[graph::NodeId{1}] = Digest{8, 8};

  EXPECT_EQ(planned_at(100, 10, members).us(), 2 * (200 + 20));
}

TEST(FusionPlan, SharesAugmentationButNoMasksOfATrial) {
  const auto values = [](std::uint64_t seed_of_second, bool dropout) {
    std::vector<FusionMember> members;
    const std::string text = dropout ? "%0 = input(shape=[8])\n%1 = dropout(%0)\n%2 = relu(%1)\n" : std::string();
    for (std::uint32_t k = 1; k <= 2; ++k) {
      const std::string head = "%3 = linear(%2, out=" + std::to_string(4 + k) + ")\n%4 = output(%3)\n";
      members.push_back(member(k, dropout ? parsed(text + head) : mlp(4 * k)));
      members.back().recipe.data.steps.push_back({"flip", true, 5, 256});
      members.back().recipe.data.order_seed = k == 2 ? seed_of_second : 1;
    }
    return testing::nodes_saved(members);
  };

  EXPECT_EQ(values(1, false), 5U);  // Samples, read, normalize, flip and input.
  EXPECT_EQ(values(2, false), 0U);
  EXPECT_EQ(values(1, true), 5U);  // Neither dropout nor the relu after it.
}

TEST(FusionPlan, CountsActivationsOnceForAllLanes) {
  const std::int64_t one = planned(equal_members(1), one_program(1)).groups[0].bytes;
  const std::int64_t four = planned(equal_members(4), one_program(4)).groups[0].bytes;

  EXPECT_LT(one, four);
  EXPECT_LT(four, 4 * one);
}

TEST(FusionPlan, CountsStateGradientsAndSlots) {
  std::vector<FusionMember> sgd = equal_members(1);
  std::vector<FusionMember> adam = equal_members(1);
  adam[0].recipe.step.optimizer = "adam";

  const std::int64_t parameters = 8 * 16 + 16 + 16 * 3 + 3;
  EXPECT_EQ(planned(adam, one_program(1)).groups[0].bytes - planned(sgd, one_program(1)).groups[0].bytes,
            4 * parameters);
}

TEST(FusionPlan, CountsTheCopyOfABestEpochsWeights) {
  std::vector<FusionMember> plain = equal_members(3);
  std::vector<FusionMember> keeping = equal_members(3);
  for (FusionMember& each : keeping) each.recipe.keeps_best_epoch = true;

  const std::int64_t parameters = 8 * 16 + 16 + 16 * 3 + 3;
  EXPECT_EQ(planned(keeping, one_program(3)).groups[0].bytes - planned(plain, one_program(3)).groups[0].bytes,
            3 * 4 * parameters);
}

TEST(FusionPlan, RefusesProgramsThatAreNoPartition) {
  const auto message = [](const std::vector<std::vector<std::size_t>>& programs) {
    const auto plan = plan_of(equal_members(2), programs, ops(), plan::Costs());
    return plan ? "" : plan.error().message;
  };

  EXPECT_EQ(message({{0}, {1}}), "");
  EXPECT_EQ(message({{0, 1}, {}}), "a program has no lanes");
  EXPECT_EQ(message({{0}}), "member 1 has 0 lanes in the programs; each member must have one");
  EXPECT_EQ(message({{0, 1}, {0}}), "member 0 has 2 lanes in the programs; each member must have one");
}

TEST(FusionPlan, NamesTheTrialWithAStepThatCannotBeDerived) {
  std::vector<FusionMember> members = equal_members(2);
  members[1].model = parsed("%0 = input(shape=[8])\n%1 = linear(%0, out=1)\n%2 = output(%1)\n");

  const auto plan = plan_of(members, one_program(2), ops(), plan::Costs());

  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().where, "trial 2");
  EXPECT_NE(plan.error().message.find("at least two classes"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace lanista::sharing
