#include "lanista/plan/sharing/verify.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/plan/sharing/test_models.h"

namespace lanista::fuse {
namespace {

using testing::ops;

// The verifier knows nothing of keys, so breaking a plan by hand must be found.
class BrokenPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<FusionMember> members{testing::member(1, testing::mlp()), testing::member(2, testing::mlp()),
                                      testing::member(3, testing::mlp(20))};
    auto made = make_plan(members, ops(), RooflineCost());
    ASSERT_TRUE(made) << made.error().text();
    plan = *std::move(made);
    ASSERT_EQ(plan.groups.size(), 1U);
    ASSERT_TRUE(verify(plan, ops(), "none"));
  }

  std::string fault() const {
    const auto result = verify(plan, ops(), "test");
    if (result) return "";
    EXPECT_EQ(result.error().code, Code::kInternal);
    return result.error().message;
  }

  // The operator in which trial `trial`'s node `id` is computed.
  std::size_t op_of(std::size_t member, std::uint32_t id) const {
    for (std::size_t i = 0; i < plan.groups[0].ops.size(); ++i) {
      for (const std::size_t v : plan.groups[0].ops[i].nodes) {
        for (const Owner& owner : plan.graph.nodes[v].owners) {
          if (owner.member == member && owner.node == graph::NodeId{id}) return i;
        }
      }
    }
    return plan.groups[0].ops.size();
  }

  FusionPlan plan;
};

TEST_F(BrokenPlan, ShowsANodeThatIsNotComputed) {
  plan.groups[0].ops.pop_back();
  EXPECT_NE(fault().find("plan after pass 'test': node"), std::string::npos) << fault();
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
  PlannedOp& lanes = plan.groups[0].ops[op_of(0, 3)];
  PlannedOp& other = plan.groups[0].ops[op_of(2, 3)];
  ASSERT_NE(&lanes, &other);  // linear(16 -> 3) and linear(20 -> 3)
  const std::size_t stranger = other.nodes.front();
  std::erase(other.nodes, stranger);
  other.nodes.push_back(lanes.nodes.back());
  lanes.nodes.back() = stranger;
  EXPECT_FALSE(fault().empty());
}

TEST_F(BrokenPlan, ShowsATrainedNodeThatIsShared) {
  // Trial 2 gives up its first layer for that of trial 1.
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
  plan.groups[0].programs.pop_back();
  EXPECT_FALSE(fault().empty());
}

TEST_F(BrokenPlan, ShowsAWrongWire) {
  plan.graph.nodes[plan.graph.trained_part(0)[2]].inputs[0].node = plan.graph.trained_part(0)[0];
  EXPECT_NE(fault().find("is not wired as its models say"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsOtherSamples) {
  plan.graph.members[1].recipe.data.order_seed = 77;
  EXPECT_NE(fault().find("is shared by trials that see other samples"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsOtherFrozenWeights) {
  std::vector<FusionMember> members{testing::member(1, testing::mlp()), testing::member(2, testing::mlp())};
  for (FusionMember& one : members) one.frozen[graph::NodeId{1}] = Digest{4, 4};
  plan = *make_plan(members, ops(), RooflineCost());
  ASSERT_EQ(fault(), "");
  plan.graph.members[1].frozen[graph::NodeId{1}] = Digest{4, 5};
  EXPECT_NE(fault().find("is shared with other weights"), std::string::npos) << fault();
}

TEST_F(BrokenPlan, ShowsKeptValuesThatChange) {
  plan.groups[0].cache = Materialized{};
  plan.groups[0].cache->values = {{plan.graph.trained_part(0)[0], 0}};
  EXPECT_NE(fault().find("changes from epoch to epoch, but is kept"), std::string::npos) << fault();
}

}  // namespace
}  // namespace lanista::fuse
