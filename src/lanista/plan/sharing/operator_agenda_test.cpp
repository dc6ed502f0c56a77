#include "lanista/plan/sharing/operator_agenda.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/plan/sharing/test_models.h"

namespace lanista::fuse {
namespace {

using testing::member;
using testing::parsed;

/// A launch costs one, copies cost what is given, all else is free.
class LaunchCost final : public CostModel {
 public:
  explicit LaunchCost(double copy) : copy_(copy) {}
  double op_us(std::span<const OperatorWork* const> lanes, OpForm) const override { return lanes.front()->launches; }
  double copy_us(double) const override { return copy_; }
  double store_us(double) const override { return 0; }
  double load_us(double) const override { return 0; }

 private:
  double copy_;
};

// The lanes of every merged operator, "linear 1 2", in the order of execution.
std::vector<std::string> merged(const std::vector<std::string>& models, const CostModel& cost) {
  std::vector<FusionMember> members;
  for (std::size_t i = 0; i < models.size(); ++i) {
    members.push_back(member(static_cast<std::uint32_t>(i + 1), parsed(models[i])));
  }
  PlanOptions options;
  options.off = {"fuse", "fan_out"};
  const auto plan = make_plan(members, graph::builtin_ops(), cost, options);
  if (!plan) return {plan.error().text()};
  std::vector<std::string> texts;
  for (const FusedGroup& group : plan->groups) {
    for (const PlannedOp& op : group.ops) {
      if (op.nodes.size() < 2) continue;
      std::string text = plan->graph.nodes[op.nodes.front()].work.operation->op;
      for (const std::size_t v : op.nodes) text += " " + std::to_string(plan->graph.nodes[v].owners[0].member + 1);
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

const std::string kInput = "%0 = input(shape=[8])\n%1 = linear(%0, out=8)\n";

TEST(Agenda, AlignsEqualModelsCompletely) {
  const std::string model = kInput + "%2 = relu(%1)\n%3 = linear(%2, out=3)\n%4 = output(%3)\n";

  EXPECT_EQ(merged({model, model, model}, LaunchCost(0)),
            (std::vector<std::string>{"linear 1 2 3", "relu 1 2 3", "linear 1 2 3"}));
}

TEST(Agenda, LetsOthersCatchUp) {
  const std::string shorter = kInput + "%2 = relu(%1)\n%3 = linear(%2, out=3)\n%4 = output(%3)\n";
  const std::string longer =
      kInput + "%5 = tanh(%1)\n%6 = tanh(%5)\n%2 = relu(%6)\n%3 = linear(%2, out=3)\n%4 = output(%3)\n";

  EXPECT_EQ(merged({shorter, longer}, LaunchCost(0)),
            (std::vector<std::string>{"linear 1 2", "relu 1 2", "linear 1 2"}));
}

TEST(Agenda, NeverMakesACycle) {
  // relu before tanh here, tanh before relu there: one pair can be merged, not both.
  const std::string one = kInput + "%2 = relu(%1)\n%3 = tanh(%2)\n%4 = linear(%3, out=3)\n%5 = output(%4)\n";
  const std::string other = kInput + "%2 = tanh(%1)\n%3 = relu(%2)\n%4 = linear(%3, out=3)\n%5 = output(%4)\n";

  const auto texts = merged({one, other}, LaunchCost(0));

  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts.front(), "linear 1 2");
  EXPECT_EQ(texts.back(), "linear 1 2");
}

TEST(Agenda, PairsRelativesByIdBeforeOthers) {
  // Both branches of both models are alike; the first model lacks one of them.
  const std::string branches = "%2 = linear(%1, out=8)\n%3 = linear(%1, out=8)\n%4 = mul(%2, %3)\n";
  const std::string tail = "%5 = linear(%4, out=3)\n%6 = output(%5)\n";
  const std::string single = kInput + "%3 = linear(%1, out=8)\n%4 = mul(%3, %1)\n" + tail;
  std::vector<FusionMember> members{member(1, parsed(single)), member(2, parsed(kInput + branches + tail))};
  PlanOptions options;
  options.off = {"fuse", "fan_out"};

  const auto plan = make_plan(members, graph::builtin_ops(), LaunchCost(0), options);

  ASSERT_TRUE(plan);
  bool found = false;
  for (const PlannedOp& op : plan->groups[0].ops) {
    if (op.nodes.size() < 2) continue;
    const auto id = [&](std::size_t lane) { return plan->graph.nodes[op.nodes[lane]].owners[0].node->value; };
    EXPECT_EQ(id(0), id(1));
    found = found || id(0) == 3;
  }
  EXPECT_TRUE(found);
}

TEST(Agenda, DeclinesMergesWhoseCopiesCostMore) {
  const std::string one = kInput + "%2 = relu(%1)\n%3 = linear(%2, out=3)\n%4 = output(%3)\n";
  const std::string other =
      "%0 = input(shape=[8])\n%1 = linear(%0, out=12)\n%2 = linear(%1, out=8)\n%3 = relu(%2)\n"
      "%4 = linear(%3, out=3)\n%5 = output(%4)\n";

  EXPECT_EQ(merged({one, other}, LaunchCost(0)), (std::vector<std::string>{"relu 1 2", "linear 1 2"}));
  EXPECT_EQ(merged({one, other}, LaunchCost(100)), std::vector<std::string>{});
}

TEST(FanOut, JoinsDenseOperatorsOfAnyWidthOnOneTensor) {
  std::vector<FusionMember> members;
  for (std::uint32_t k = 1; k <= 3; ++k) members.push_back(member(k, testing::mlp(4 * k)));

  const auto plan = make_plan(members, graph::builtin_ops(), LaunchCost(0));

  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->groups.size(), 1U);
  std::map<OpForm, std::size_t> lanes;
  for (const PlannedOp& op : plan->groups[0].ops) lanes[op.form] += op.nodes.size() > 1 ? op.nodes.size() : 0;
  EXPECT_EQ(lanes[OpForm::kFanOut], 3U);   // linear 4, 8, 12 on the input
  EXPECT_EQ(lanes[OpForm::kBatched], 0U);  // nothing below has equal shapes
}

}  // namespace
}  // namespace lanista::fuse
