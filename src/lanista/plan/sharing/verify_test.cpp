#include "lanista/plan/sharing/verify.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/plan/sharing/test_models.h"

namespace lanista::sharing {
namespace {

using testing::ops;

// The verifier does not read the keys, so it must find every error that a test puts into a plan.
class BrokenPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<FusionMember> members{testing::member(1, testing::mlp()), testing::member(2, testing::mlp()),
                                      testing::member(3, testing::mlp(20))};
    plan = testing::planned(members, {{0, 1}, {2}});
  }

  /// Returns the message of the verifier, or an empty text.
  std::string fault() const {
    const auto result = verify(plan, ops());
    if (result) return "";
    EXPECT_EQ(result.error().code, Code::kInternal);
    return result.error().message;
  }

  FusionPlan plan;
};

TEST_F(BrokenPlan, ShowsANodeThatIsNotComputed) {
  plan.groups[0].ops.pop_back();
  EXPECT_NE(fault().find("plan: node"), std::string::npos) << fault();
  EXPECT_NE(fault().find("is not computed"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsANodeThatIsComputedTwice) {
  plan.groups[0].ops.push_back(plan.groups[0].ops.back());
  EXPECT_NE(fault().find("is computed twice"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsAWrongOrder) {
  std::swap(plan.groups[0].ops.front(), plan.groups[0].ops.back());
  EXPECT_NE(fault().find("is computed before its inputs"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsLanesThatDiffer) {
  const std::vector<FusionMember> members{testing::member(1, testing::mlp()), testing::member(2, testing::mlp(20))};
  const auto made = plan_of(members, testing::one_program(2), ops(), plan::Costs());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInternal);
  EXPECT_NE(made.error().message.find("is not a lane of its operator"), std::string::npos) << made.error().message;
}

TEST_F(BrokenPlan, ShowsATrainedNodeThatIsShared) {
  // Trial 2 uses the first layer of trial 1 instead of its own.
  const std::size_t mine = plan.graph.trained_part(0)[0];
  const std::size_t theirs = plan.graph.trained_part(1)[0];
  plan.graph.nodes[mine].owners.push_back({1, graph::NodeId{1}});
  for (std::size_t& v : plan.graph.nodes_of_member[1]) v = v == theirs ? mine : v;
  for (LogicalNode& node : plan.graph.nodes) {
    for (OutputRef& wire : node.inputs) wire.node = wire.node == theirs ? mine : wire.node;
  }
  EXPECT_NE(fault().find("is trained, but shared"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsATrialThatIsLost) {
  plan.groups.pop_back();
  EXPECT_FALSE(fault().empty());
}

TEST_F(BrokenPlan, ShowsAWrongWire) {
  plan.graph.nodes[plan.graph.trained_part(0)[2]].inputs[0].node = plan.graph.trained_part(0)[0];
  EXPECT_NE(fault().find("has other inputs than in its model"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsOtherSamples) {
  plan.graph.members[1].recipe.data.order_seed = 77;
  EXPECT_NE(fault().find("is shared by trials that read other samples"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsOtherFrozenWeights) {
  std::vector<FusionMember> members{testing::member(1, testing::mlp()), testing::member(2, testing::mlp())};
  for (FusionMember& one : members) one.frozen[graph::NodeId{1}] = Digest{4, 4};
  plan = testing::planned(members, testing::one_program(2));
  ASSERT_EQ(fault(), "");
  plan.graph.members[1].frozen[graph::NodeId{1}] = Digest{4, 5};
  EXPECT_NE(fault().find("is shared with other weights"), std::string::npos) << fault();
}

}  // namespace
}  // namespace lanista::sharing
