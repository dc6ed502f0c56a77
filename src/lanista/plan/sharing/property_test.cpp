#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/plan/sharing/plan.h"
#include "support/plan/sharing/test_models.h"

// Random populations: whatever the planner does, every trial computes what it computes alone.
namespace lanista::fuse {
namespace {

using testing::ops;

using Values = std::map<Owner, Digest>;  // of every model node of every trial

/// What a node computes, as a hash of an expression: operation, whose weights and masks, inputs.
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

Digest samples(const StepRecipe& recipe) {
  Hasher hash;
  hash.digest(recipe.data.dataset).text(recipe.data.split).number(static_cast<std::int64_t>(recipe.data.order_seed));
  return hash.number(recipe.batch_size).number(recipe.local_step).finish();
}

Digest data_step(const std::string& text, const Digest& above) {
  Hasher hash;
  return hash.text(text).digest(above).finish();
}

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

// By the plan alone: operators in order, the operation of an operator's first lane, the weights of each lane.
void evaluate(const LogicalGraph& graph, const FusedGroup& group, Values& values) {
  std::map<std::size_t, Digest> done;
  const std::vector<std::size_t> members = group.members();
  for (const PlannedOp& op : group.ops) {
    for (const std::size_t v : op.nodes) {
      const LogicalNode& node = graph.nodes[v];
      const LogicalNode& first = op.form == OpForm::kFanOut ? node : graph.nodes[op.nodes.front()];
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

const std::vector<std::vector<std::string>> kSwitches{
    {},
    {"prefix"},
    {"fuse"},
    {"weigh"},
    {"pack"},
    {"fan_out"},
    {"batch"},
    {"gather"},
    {"materialize"},
    {"fuse", "weigh"},
    {"prefix", "fuse", "weigh", "pack", "fan_out", "batch", "gather", "materialize"}};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Planner, KeepsWhatEveryTrialComputes) {
  std::size_t fused = 0;
  std::size_t packed = 0;
  std::size_t merged = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng(seed);
    const std::vector<FusionMember> members = testing::population(rng, ops());
    for (const auto& off : kSwitches) {
      PlanOptions options;
      options.off = off;
      const auto plan = make_plan(members, ops(), RooflineCost(), options);
      ASSERT_TRUE(plan) << "seed " << seed << ": " << plan.error().text();
      expect_same_values(members, *plan);
      for (const FusedGroup& group : plan->groups) {
        fused += group.form() == GroupForm::kFused ? 1 : 0;
        packed += group.form() == GroupForm::kPacked ? 1 : 0;
      }
      for (const PassReport& report : plan->reports) merged += report.name == "batch" ? report.changes : 0;
    }
  }
  EXPECT_GT(fused, 15U);  // the test is about something
  EXPECT_GT(packed, 60U);
  EXPECT_GT(merged, 60U);
}

TEST(Planner, IsNeverPredictedToLose) {
  for (std::uint64_t seed = 100; seed < 112; ++seed) {
    Rng rng(seed);
    const std::vector<FusionMember> members = testing::population(rng, ops());
    for (const double penalty : {0.2, 1.0, 1.5, 4.0}) {
      for (const auto& off : kSwitches) {
        if (contains(off, "weigh")) continue;  // then everything that can be joined is
        PlanOptions options;
        options.off = off;
        const auto plan = make_plan(members, ops(), testing::PenaltyCost(penalty), options);
        ASSERT_TRUE(plan) << plan.error().text();
        EXPECT_LE(plan->us(), plan->alone_us * (1 + 1e-9)) << "seed " << seed << " penalty " << penalty;
      }
    }
  }
}

TEST(Planner, StaysWithinMemory) {
  for (std::uint64_t seed = 200; seed < 230; ++seed) {
    Rng rng(seed);
    PlanOptions options;
    options.limits.bytes = rng.between(1, 400) * 1000;
    options.limits.shared_activations = rng.bernoulli(0.5);
    const auto plan = make_plan(testing::population(rng, ops()), ops(), RooflineCost(), options);
    ASSERT_TRUE(plan) << plan.error().text();
    for (const FusedGroup& group : plan->groups) {
      EXPECT_TRUE(group.form() == GroupForm::kSingle || group.bytes <= options.limits.bytes);
    }
  }
}

TEST(Planner, GivesTheSamePlanAgain) {
  for (std::uint64_t seed = 300; seed < 310; ++seed) {
    Rng rng(seed);
    const std::vector<FusionMember> members = testing::population(rng, ops());
    const auto one = make_plan(members, ops(), RooflineCost());
    const auto other = make_plan(members, ops(), RooflineCost());
    ASSERT_TRUE(one && other);
    EXPECT_EQ(explain(*one), explain(*other));
  }
}

}  // namespace
}  // namespace lanista::fuse
