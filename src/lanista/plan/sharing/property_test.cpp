#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/plan/sharing/plan.h"
#include "support/plan/sharing/test_models.h"

// In plans of random trials, every trial computes the same values as alone.
namespace lanista::sharing {
namespace {

using testing::ops;

using Values = std::map<Owner, Digest>;  ///< the value of every model node of every trial

/// Returns the value of a node as a hash: operation, inputs, and the owner of its weights and masks.
Digest expression(const graph::Node& operation, const FusionMember& owner, graph::NodeId id,
                  std::vector<Digest> inputs) {
  Hasher hash;
  hash.text(operation.op);
  for (const auto& [name, value] : operation.attrs) hash.text(name).text(graph::attr_text(value));
  const graph::OpDef& def = *ops().find(operation.op);
  if (def.params || def.random) {
    const auto frozen = owner.frozen.find(id);
    if (frozen != owner.frozen.end()) {
      hash.text("frozen").digest(frozen->second);
    } else {
      hash.text("own").number(owner.trial.value).number(id.value);
    }
  }
  if (def.commutative && inputs.size() == 2) std::sort(inputs.begin(), inputs.end());
  for (const Digest& input : inputs) hash.digest(input);
  return hash.finish();
}

/// Returns the value of the samples of a step.
Digest samples(const StepRecipe& recipe) {
  Hasher hash;
  hash.digest(recipe.data.dataset).text(recipe.data.split).number(static_cast<std::int64_t>(recipe.data.order_seed));
  return hash.number(recipe.batch_size).number(recipe.local_step).finish();
}

/// Returns the value of a data step.
Digest data_step(const std::string& text, const Digest& above) {
  Hasher hash;
  return hash.text(text).digest(above).finish();
}

/// Adds the values of a trial that runs alone.
void evaluate_alone(const FusionMember& member, std::size_t number, Values& values) {
  Digest batch = samples(member.recipe);
  for (const DataStep& step : member.recipe.data.steps) batch = data_step(step.text, batch);
  for (const graph::NodeId id : member.model.topo()) {
    const graph::Node& node = member.model.node(id);
    std::vector<Digest> inputs;
    for (const graph::Port& port : node.inputs) inputs.push_back(values.at({number, port.node}));
    if (inputs.empty()) inputs.push_back(batch);
    values[{number, id}] = expression(node, member, id, std::move(inputs));
  }
}

/// Adds the values that a group computes: the operation of each operator's first lane on the weights of each lane.
void evaluate(const LogicalGraph& graph, const FusedGroup& group, Values& values) {
  std::map<std::size_t, Digest> done;
  const std::vector<std::size_t> members = group.members();
  for (const PlannedOp& op : group.ops) {
    for (const std::size_t v : op.nodes) {
      const LogicalNode& node = graph.nodes[v];
      const LogicalNode& first = graph.nodes[op.nodes.front()];
      const Owner& owner = node.owners.front();
      std::vector<Digest> inputs;
      for (const OutputRef& wire : node.inputs) inputs.push_back(done.at(wire.node));
      if (!owner.node) {
        done[v] = inputs.empty() ? samples(graph.members[owner.member].recipe)
                                 : data_step(first.work.operation->op, inputs.front());
        continue;
      }
      done[v] = expression(*first.work.operation, graph.members[owner.member], *owner.node, std::move(inputs));
      for (const Owner& each : node.owners) {
        if (std::find(members.begin(), members.end(), each.member) == members.end()) continue;
        EXPECT_TRUE(values.emplace(each, done[v]).second) << "computed twice: " << node_text(node);
      }
    }
  }
}

void expect_same_values(const std::vector<FusionMember>& members, const FusionPlan& plan) {
  Values alone;
  for (std::size_t m = 0; m < members.size(); ++m) evaluate_alone(members[m], m, alone);
  Values together;
  for (const FusedGroup& group : plan.groups) evaluate(plan.graph, group, together);
  EXPECT_TRUE(alone == together) << explain(plan);
}

TEST(Planner, KeepsTheValuesOfEveryTrial) {
  std::size_t fused = 0;
  std::size_t saved = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const std::vector<FusionMember> members = testing::population(rng, ops());
    const auto plan = plan_of(members, testing::programs_by_step(members), ops(), plan::Costs());
    ASSERT_TRUE(plan) << "seed " << seed << ": " << plan.error().text();
    expect_same_values(members, *plan);
    saved += plan->nodes_saved;
    for (const FusedGroup& group : plan->groups) fused += group.form() == GroupForm::kFused ? 1 : 0;
  }
  EXPECT_GT(fused, 5U);  // Otherwise the test checks too few lanes.
  EXPECT_GT(saved, 100U);
}

TEST(Planner, GivesTheSamePlanAgain) {
  for (std::uint64_t seed = 300; seed < 310; ++seed) {
    Rng rng(seed);
    const std::vector<FusionMember> members = testing::population(rng, ops());
    const auto programs = testing::programs_by_step(members);
    const auto one = plan_of(members, programs, ops(), plan::Costs());
    const auto other = plan_of(members, programs, ops(), plan::Costs());
    ASSERT_TRUE(one && other);
    EXPECT_EQ(explain(*one), explain(*other));
  }
}

}  // namespace
}  // namespace lanista::sharing
