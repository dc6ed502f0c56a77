#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanista/plan/sharing/plan.h"
#include "lanista/plan/sharing/structure.h"
#include "support/plan/sharing/test_models.h"

namespace lanista::fuse {
namespace {

using testing::backbone_with_head;
using testing::member;
using testing::mlp;
using testing::parsed;

/// A microsecond for every kernel and for every lane of it; data steps as they say.
class RoundCost final : public CostModel {
 public:
  double op_us(std::span<const OperatorWork* const> lanes, OpForm) const override {
    double us = lanes.front()->launches;
    for (const OperatorWork* work : lanes) us += work->host_us + work->launches;
    return us;
  }
  double copy_us(double bytes) const override { return bytes / 1000; }
  double store_us(double bytes) const override { return bytes / 100; }
  double load_us(double bytes) const override { return bytes / 1000; }
};

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

  const auto plan = make_plan(members, graph::builtin_ops(), RoundCost());

  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(explain(*plan), R"(plan: trials 1 2 3 4 5 6 in 3 groups, 131.8 us a step, 2078.0 us with every trial alone
group 1: packed, trials 1 2 3 4, 401.0 us a step (apart 1053.0 us), 87.4 us with what is kept, 156368 bytes
  shared by trials 1 2 3: %1 conv2d(out=4) frozen, %2 relu, %3 conv2d(out=4) frozen, %4 relu, %5 flatten
  shared by trials 1 2 3 4: samples, read, normalize, %0 input(shape=[1,8,8])
  kept: %0 input(shape=[1,8,8]), %5 flatten: 512 bytes a sample
    2 epochs, each computes 3300.0 us or reads 163.8 us; storing takes 1638.4 us
  alone: trial 3, 4 nodes
  lanes: trials 1 2, 4 nodes
  alone: trial 4, 9 nodes
  fan-out: %6 linear(out=12) of trial 3, %6 linear(out=8) of trial 1, %6 linear(out=8) of trial 2
group 2: single, trial 5, 344.0 us a step, 22.2 us with what is kept, 53972 bytes
  kept: %5 flatten: 256 bytes a sample
    4 epochs, each computes 3300.0 us or reads 81.9 us; storing takes 819.2 us
  alone: trial 5, 4 nodes
group 3: single, trial 6, 344.0 us a step, 22.2 us with what is kept, 53972 bytes
  kept: %5 flatten: 256 bytes a sample
    4 epochs, each computes 3300.0 us or reads 81.9 us; storing takes 819.2 us
  alone: trial 6, 4 nodes
why not:
  trial 1 cannot be a lane with trial 3: %6 linear(out=8) against %6 linear(out=12)
  trial 1 shares its prefix with trial 3 up to %6 linear(out=8) against %6 linear(out=12)
  trial 4 cannot be a lane with trial 3: %1 conv2d(out=4) against %6 linear(out=12): inputs [N, 1, 8, 8], [N, 64]
  trial 4 shares its prefix with trial 3 up to %1 conv2d(out=4) against %1 conv2d(out=4): one is frozen
  trial 5 cannot be packed with trial 3: local step 10 against 0
  trial 6 runs alone: its group failed
  batch left out trials 1 2 4: %7 relu as one operator is 4.1 us slower
  batch left out trials 1 2 4: %8 linear(out=3) as one operator is 3.1 us slower
passes: prefix 22, fuse 1, weigh 0, pack 2, fan_out 1, batch 0, weigh 0, gather 0, fan_out 0, weigh 0, materialize 2
)");
}

// The texts of what two trials differ in.
struct Texts {
  std::string step, stream, prefix;
};

Texts difference(void (*change)(FusionMember&)) {
  std::vector<FusionMember> members{member(1, mlp()), member(2, mlp())};
  for (FusionMember& one : members) one.frozen[graph::NodeId{1}] = Digest{4, 4};
  change(members[1]);
  const auto graph = unite(members, graph::builtin_ops());
  if (!graph) return {graph.error().text(), "", ""};
  return {step_difference(*graph, 0, 1).text, stream_difference(*graph, 0, 1).text,
          prefix_difference(*graph, 0, 1).text};
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
  EXPECT_EQ(difference([](FusionMember& m) { m.frozen[graph::NodeId{1}] = Digest{}; }).prefix,
            "%1 linear(out=16) against %1 linear(out=16): frozen with other weights");
  EXPECT_EQ(difference([](FusionMember& m) { m.frozen.clear(); }).prefix,
            "%1 linear(out=16) against %1 linear(out=16): one is frozen");
  EXPECT_EQ(difference([](FusionMember&) {}).prefix, "%3 linear(out=3) is trained");
}

TEST(Difference, NamesTheFirstNodeThatIsWiredOtherwise) {
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
}  // namespace lanista::fuse
