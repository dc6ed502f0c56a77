#include "lanista/plan/sharing/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "support/plan/sharing/test_models.h"

namespace lanista::fuse {
namespace {

using testing::backbone_with_head;
using testing::member;
using testing::mlp;
using testing::ops;
using testing::parsed;

// A plan that can be made; one that cannot fails the test by throwing.
FusionPlan planned(std::vector<FusionMember> members, const CostModel& cost = RooflineCost(), const PlanOptions& options = {}) {
  auto plan = make_plan(std::move(members), ops(), cost, options);
  LANISTA_CHECK(plan.ok(), plan ? "" : plan.error().text());
  return *std::move(plan);
}

std::vector<GroupForm> forms(const FusionPlan& plan) {
  std::vector<GroupForm> all;
  for (const FusedGroup& group : plan.groups) all.push_back(group.form());
  return all;
}

/// Exact prices: every data step what it says, frozen nodes `frozen`, trained linear layers `trained`, all else free.
class PriceList final : public CostModel {
 public:
  PriceList(double frozen, double trained) : frozen_(frozen), trained_(trained) {}
  double op_us(std::span<const OperatorWork* const> lanes, OpForm) const override {
    double us = 0;
    for (const OperatorWork* work : lanes) {
      us += work->host_us + (work->weight_grad ? trained_ : work->operation->op == "conv2d" ? frozen_ : 0);
    }
    return us;
  }
  double copy_us(double) const override { return 0; }
  double store_us(double bytes) const override { return bytes; }
  double load_us(double bytes) const override { return bytes / 4096; }

 private:
  double frozen_, trained_;
};

std::vector<FusionMember> equal_members(std::size_t size) {
  std::vector<FusionMember> members;
  for (std::size_t i = 1; i <= size; ++i) members.push_back(member(static_cast<std::uint32_t>(i), mlp()));
  return members;
}

// Trials with one frozen backbone and heads of their own width.
std::vector<FusionMember> frozen_backbones(std::size_t size) {
  std::vector<FusionMember> members;
  for (std::size_t i = 1; i <= size; ++i) {
    members.push_back(member(static_cast<std::uint32_t>(i), backbone_with_head(static_cast<std::int64_t>(4 * i))));
    members.back().recipe.data.steps.clear();
    for (std::uint32_t id = 1; id <= 5; ++id) members.back().frozen[graph::NodeId{id}] = Digest{9, id};
  }
  return members;
}

TEST(FusionPlan, MakesLanesOfModelsThatDifferInNumbersOfALaneAlone) {
  const auto with = [](std::uint32_t trial, const std::string& p) {
    return member(trial, parsed("%0 = input(shape=[64])\n%1 = linear(%0, out=16)\n%2 = dropout(%1" + p +
                                ")\n%3 = linear(%2, out=10)\n%4 = output(%3)\n"));
  };
  const FusionPlan plan = planned({with(1, ""), with(2, ", p=0.1"), with(3, ", p=0.9")});
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].form(), GroupForm::kFused);
}

TEST(FusionPlan, FusesTrialsThatDifferInHyperParametersOnly) {
  const FusionPlan plan = planned(equal_members(5));

  ASSERT_EQ(forms(plan), std::vector{GroupForm::kFused});
  EXPECT_EQ(plan.groups[0].programs[0].members, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(plan.groups[0].programs[0].same_ids);
  EXPECT_LT(plan.us(), plan.alone_us);
}

TEST(FusionPlan, LanesMayKnowTheirNodesByOtherIds) {
  std::vector<FusionMember> members = equal_members(2);
  members[1].model = parsed(
      "%7 = input(shape=[8])\n%3 = linear(%7, out=16)\n%9 = relu(%3)\n%5 = linear(%9, out=3)\n%6 = output(%5)\n");

  const FusionPlan plan = planned(members);
  PlanOptions relatives;
  relatives.limits.structural_lanes = false;
  relatives.off = {"pack"};
  const FusionPlan strict = planned(members, RooflineCost(), relatives);

  ASSERT_EQ(forms(plan), std::vector{GroupForm::kFused});
  EXPECT_FALSE(plan.groups[0].programs[0].same_ids);
  EXPECT_EQ(forms(strict), (std::vector{GroupForm::kSingle, GroupForm::kSingle}));
}

TEST(FusionPlan, FusesNothingWhoseStepDiffers) {
  const auto pair_with = [](auto change) {
    std::vector<FusionMember> members = equal_members(2);
    change(members[1]);
    PlanOptions options;
    options.off = {"pack"};
    options.limits.min_gain = 0;
    return forms(planned(members, RooflineCost(), options));
  };
  const std::vector<GroupForm> apart{GroupForm::kSingle, GroupForm::kSingle};

  EXPECT_EQ(pair_with([](FusionMember& m) { m.model = mlp(20); }), apart);
  EXPECT_EQ(pair_with([](FusionMember& m) { m.recipe.batch_size = 16; }), apart);
  EXPECT_EQ(pair_with([](FusionMember& m) { m.recipe.step.optimizer = "adam"; }), apart);
  EXPECT_EQ(pair_with([](FusionMember& m) { m.recipe.step.loss = "mse"; }), apart);
  EXPECT_EQ(pair_with([](FusionMember& m) { m.recipe.precision = Precision::kFloat64; }), apart);
  EXPECT_EQ(pair_with([](FusionMember& m) { m.frozen[graph::NodeId{3}] = Digest{1, 1}; }), apart);
  EXPECT_EQ(pair_with([](FusionMember& m) { m.alone = "its group failed"; }), apart);
  EXPECT_EQ(pair_with([](FusionMember& m) { m.recipe.local_step = 5; }), std::vector{GroupForm::kFused});  // own batches
}

TEST(FusionPlan, PacksOtherModelsOnOneStream) {
  std::vector<FusionMember> members = equal_members(2);
  members.push_back(member(3, mlp(20)));
  members.push_back(member(4, mlp(24)));
  members[3].recipe.local_step = 5;

  const FusionPlan plan = planned(members);

  ASSERT_EQ(forms(plan), (std::vector{GroupForm::kPacked, GroupForm::kSingle}));
  EXPECT_EQ(plan.groups[0].members(), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(plan.groups[0].programs.size(), 2U);
  EXPECT_EQ(plan.groups[0].parts.size(), 2U);
}

TEST(FusionPlan, GathersLanesOfSeveralStreamsOnlyWithoutLocalLanes) {
  const auto plan_with = [](double data_us) {
    std::vector<FusionMember> members = equal_members(3);
    members[2].recipe.local_step = 5;
    members.push_back(member(4, mlp(20)));  // on the stream of the first two
    for (FusionMember& one : members) one.recipe.data.steps[0].us_per_sample = data_us;
    for (FusionMember& one : members) one.recipe.data.steps[1].us_per_sample = 0;
    PlanOptions options;
    options.off = {"fan_out", "batch"};
    return planned(members, RooflineCost(), options);
  };

  const FusionPlan dear = plan_with(10);
  const FusionPlan free = plan_with(0);

  ASSERT_EQ(forms(dear), (std::vector{GroupForm::kPacked, GroupForm::kSingle}));
  EXPECT_EQ(dear.groups[0].members(), (std::vector<std::size_t>{0, 1, 3}));
  ASSERT_EQ(forms(free), (std::vector{GroupForm::kFused, GroupForm::kSingle}));
  EXPECT_EQ(free.groups[0].members(), (std::vector<std::size_t>{0, 1, 2}));
}

// p and h of a prefix and a head: K (p + h) alone, p + K h together.
TEST(FusionPlan, SharingAPrefixGainsWhatItCan) {
  const double p = 10 * 32;
  std::vector<FusionMember> members;
  for (std::uint32_t k = 1; k <= 6; ++k) members.push_back(member(k, mlp(4 * k)));  // two trained layers each

  const FusionPlan plan = planned(members, PriceList(0, 25));

  EXPECT_DOUBLE_EQ(plan.alone_us, 6 * (p + 50));
  EXPECT_DOUBLE_EQ(plan.us(), p + 6 * 50);
}

TEST(FusionPlan, SharesAFrozenBackbone) {
  const FusionPlan plan = planned(frozen_backbones(4), PriceList(100, 10));

  EXPECT_DOUBLE_EQ(plan.alone_us, 4 * (2 * 100 + 2 * 10));  // two convolutions, two trained layers
  EXPECT_DOUBLE_EQ(plan.us(), 2 * 100 + 4 * 20);
}

TEST(FusionPlan, SharesNoBackboneWithOtherWeights) {
  std::vector<FusionMember> members = frozen_backbones(2);
  members[1].frozen[graph::NodeId{1}] = Digest{8, 8};
  std::vector<FusionMember> trained = frozen_backbones(2);
  trained[1].frozen.clear();

  EXPECT_EQ(planned(members, PriceList(100, 10)).us(), 2 * (200 + 20));
  EXPECT_EQ(planned(trained, PriceList(100, 10)).us(), (200 + 20) + 4 * 10);
}

TEST(FusionPlan, SharesAugmentationOfOneStreamButNoMasksOfATrial) {
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

  EXPECT_EQ(values(1, false), 5U);  // samples, read, normalize, flip, input
  EXPECT_EQ(values(2, false), 0U);
  EXPECT_EQ(values(1, true), 5U);  // neither dropout nor the relu behind it
}

TEST(FusionPlan, NeverMergesWhatIsPredictedToLose) {
  std::vector<FusionMember> members = equal_members(4);
  members.push_back(member(5, mlp(20)));
  for (FusionMember& one : members) one.recipe.data.steps.clear();  // nothing to gain but by merging operators

  const FusionPlan plan = planned(members, testing::PenaltyCost(2));

  EXPECT_EQ(forms(plan), std::vector<GroupForm>(5, GroupForm::kSingle));
  EXPECT_DOUBLE_EQ(plan.us(), plan.alone_us);
  EXPECT_TRUE(std::any_of(plan.declined.begin(), plan.declined.end(),
                          [](const Declined& d) { return d.pass == "fuse" && d.members.size() == 4; }));
}

TEST(FusionPlan, KeepsGroupsWithinMemory) {
  const std::int64_t one = planned(equal_members(1)).groups[0].bytes;
  const std::int64_t three = planned(equal_members(3)).groups[0].bytes;
  ASSERT_LT(one, three);
  PlanOptions options;
  options.limits.bytes = three;
  options.off = {"pack"};

  const FusionPlan plan = planned(equal_members(7), RooflineCost(), options);
  options.limits.bytes = one - 1;
  const FusionPlan tight = planned(equal_members(3), RooflineCost(), options);

  ASSERT_EQ(forms(plan), (std::vector{GroupForm::kFused, GroupForm::kFused, GroupForm::kSingle}));
  for (const FusedGroup& group : plan.groups) EXPECT_LE(group.bytes, three);
  ASSERT_FALSE(plan.declined.empty());
  EXPECT_NE(plan.declined[0].reason.find(" bytes, " + std::to_string(three) + " are allowed"), std::string::npos);
  EXPECT_EQ(forms(tight), std::vector<GroupForm>(3, GroupForm::kSingle));  // whether they can run is not for the planner to say
}

TEST(FusionPlan, CountsActivationsOnceWhereLanesTakeTurns) {
  PlanOptions gpu;
  gpu.limits.shared_activations = false;

  const std::int64_t turns = planned(equal_members(4)).groups[0].bytes;
  const std::int64_t at_once = planned(equal_members(4), RooflineCost(), gpu).groups[0].bytes;

  EXPECT_LT(turns, at_once);
}

TEST(FusionPlan, CountsStateGradientsAndSlots) {
  std::vector<FusionMember> sgd = equal_members(1);
  std::vector<FusionMember> adam = equal_members(1);
  adam[0].recipe.step.optimizer = "adam";

  const std::int64_t parameters = 8 * 16 + 16 + 16 * 3 + 3;
  EXPECT_EQ(planned(adam).groups[0].bytes - planned(sgd).groups[0].bytes, 4 * parameters);
}

TEST(FusionPlan, CountsTheCopyOfABestEpochsWeights) {
  std::vector<FusionMember> plain = equal_members(3);
  std::vector<FusionMember> keeping = equal_members(3);
  for (FusionMember& each : keeping) each.recipe.keeps_best_epoch = true;

  const std::int64_t parameters = 8 * 16 + 16 + 16 * 3 + 3;
  EXPECT_EQ(planned(keeping).groups[0].bytes - planned(plain).groups[0].bytes, 3 * 4 * parameters);
}

TEST(FusionPlan, KeepsAFrozenBackbonesValuesWhereThatPays) {
  // 4 x 4 x 4 values of 4 bytes for each of 320 samples: 81920 us to store; an epoch of ten steps computes 2000 us.
  const auto cache = [](std::int64_t epochs, const Limits& limits = {}) {
    std::vector<FusionMember> members = frozen_backbones(1);
    members[0].recipe.epochs = epochs;
    PlanOptions options;
    options.limits = limits;
    return planned(members, PriceList(100, 10), options);
  };
  const FusionPlan few = cache(42);
  const FusionPlan many = cache(43);
  Limits small;
  small.cache_bytes = 81919;
  const FusionPlan cramped = cache(43, small);

  ASSERT_TRUE(many.groups[0].cache && few.groups[0].cache && cramped.groups[0].cache);
  const Materialized& kept = *many.groups[0].cache;
  EXPECT_EQ(kept.bytes_per_sample, 256);
  EXPECT_DOUBLE_EQ(kept.compute_us_per_epoch, 2000);
  EXPECT_DOUBLE_EQ(kept.read_us_per_epoch, 10 * 2);
  EXPECT_DOUBLE_EQ(kept.store_us, 81920);
  EXPECT_FALSE(few.groups[0].cache->pays);  // 41 * 1980 us are saved after the first epoch
  EXPECT_TRUE(kept.pays);                   // 42 * 1980
  EXPECT_DOUBLE_EQ(many.us(), 2 + 20);
  EXPECT_EQ(cramped.groups[0].cache->why_not, "no room in the cache");
}

TEST(FusionPlan, KeepsNothingBehindAugmentation) {
  std::vector<FusionMember> members = frozen_backbones(1);
  members[0].recipe.epochs = 1000;
  members[0].recipe.data.steps = {{"decode", false, 50, 64}, {"flip", true, 1, 64}};

  const FusionPlan plan = planned(members, PriceList(100, 10));

  ASSERT_TRUE(plan.groups[0].cache);
  ASSERT_EQ(plan.groups[0].cache->values.size(), 1U);
  EXPECT_EQ(node_text(plan.graph.nodes[plan.groups[0].cache->values[0].node]), "decode");
  EXPECT_TRUE(plan.groups[0].cache->pays);
}

TEST(FusionPlan, StoresWhatTwoGroupsKeepOnce) {
  std::vector<FusionMember> members = frozen_backbones(2);
  members[1].recipe.local_step = 7;                    // other batches of the same samples
  for (FusionMember& one : members) one.recipe.epochs = 22;  // too few for one alone

  const FusionPlan plan = planned(members, PriceList(100, 10));

  ASSERT_EQ(plan.groups.size(), 2U);
  ASSERT_TRUE(plan.groups[0].cache && plan.groups[1].cache);
  EXPECT_EQ(plan.groups[0].cache->key, plan.groups[1].cache->key);
  EXPECT_TRUE(plan.groups[0].cache->pays);
  EXPECT_EQ(plan.groups[0].cache->epochs, 44);
}

TEST(FusionPlan, TimesPassesByTheCallersClock) {
  double now = 0;
  PlanOptions options;
  options.clock = [&] { return now += 1; };

  const FusionPlan plan = planned(equal_members(2), RooflineCost(), options);

  for (const PassReport& report : plan.reports) EXPECT_EQ(report.microseconds, 1) << report.name;
}

TEST(FusionPlan, RefusesUnknownPasses) {
  PlanOptions options;
  options.off = {"fusing"};

  const auto plan = make_plan(equal_members(1), ops(), RooflineCost(), options);

  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kNotFound);
  EXPECT_EQ(plan.error().message,
            "no pass is called 'fusing'; there are prefix fuse weigh pack fan_out batch gather materialize");
}

TEST(FusionPlan, NamesTheTrialWhoseStepCannotBeDerived) {
  std::vector<FusionMember> members = equal_members(2);
  members[1].model = parsed("%0 = input(shape=[8])\n%1 = linear(%0, out=1)\n%2 = output(%1)\n");

  const auto plan = make_plan(members, ops(), RooflineCost());

  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().where, "trial 2");
  EXPECT_NE(plan.error().message.find("at least two classes"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace lanista::fuse
