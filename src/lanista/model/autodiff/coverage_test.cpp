#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lanista/model/autodiff/training_step.h"
#include "support/model/autodiff/test_models.h"

namespace lanista::autodiff {
namespace {

TEST(EveryOperator, HasGradientRuleOrDecomposition) {
  const std::set<std::string> without{"input", "output", "zero"};
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    const graph::OpDef& def = *ops.find(name);
    EXPECT_NE(def.gradient || def.decompose, without.contains(name)) << name;
  }
}

TEST(EveryOperator, NamesATrainFormAndBuffersThatExist) {
  const graph::OpTable ops = training_ops(graph::builtin_ops());
  for (const std::string& name : ops.names()) {
    const graph::OpDef& def = *ops.find(name);
    if (def.train_form.empty()) {
      EXPECT_TRUE(def.buffer_updates.empty()) << name;
      continue;
    }
    const graph::OpDef* form = ops.find(def.train_form);
    ASSERT_NE(form, nullptr) << name;
    EXPECT_EQ(form->level, graph::OpLevel::kStep) << name;
    for (const auto& attr : def.attrs) {
      const bool shared = std::any_of(form->attrs.begin(), form->attrs.end(),
                                      [&](const auto& other) { return other.name == attr.name; });
      EXPECT_TRUE(shared) << name << " " << attr.name;
    }
  }
}

TEST(EveryOperator, DerivesAStepThatReachesAllParameters) {
  const auto models = testing::model_of_each_operator();
  const graph::OpTable ops = training_ops(graph::builtin_ops());
  for (const std::string& name : graph::builtin_ops().names()) {
    if (name == "input" || name == "output") continue;
    ASSERT_TRUE(models.contains(name)) << "no model shows " << name;
    const graph::Graph model = testing::parsed(models.at(name));
    ASSERT_FALSE(model.nodes_of(name).empty()) << name;

    const auto step = derive_training_step(model, {}, ops);

    ASSERT_TRUE(step) << name << ": " << step.error().text();
    for (const StateTensor& tensor : step->state) {
      // After `zero` only the head learns.
      const bool reached = tensor.trained && (name != "zero" || tensor.name.substr(0, 3) == "n3.");
      EXPECT_EQ(step->gradient.contains(tensor.node), reached) << name << " " << tensor.name;
      if (!reached) continue;
      EXPECT_EQ(step->types.at(step->gradient.at(tensor.node)).shape, tensor.shape) << name;
    }
  }
}

TEST(EveryOperator, DerivesAnInferenceStepOverTheSameState) {
  const graph::OpTable ops = training_ops(graph::builtin_ops());
  for (const auto& [name, text] : testing::model_of_each_operator()) {
    const graph::Graph model = testing::parsed(text);
    const auto training = derive_training_step(model, {}, ops);
    const auto inference = derive_inference_step(model, ops);
    ASSERT_TRUE(training && inference) << name;

    ASSERT_EQ(inference->state.size(), training->state.size()) << name;
    for (std::size_t i = 0; i < training->state.size(); ++i) {
      EXPECT_EQ(inference->state[i].name, training->state[i].name) << name;
      EXPECT_EQ(inference->state[i].node, training->state[i].node) << name;
      EXPECT_EQ(inference->state[i].shape, training->state[i].shape) << name;
    }
    EXPECT_EQ(inference->types.at(inference->prediction), training->types.at(training->prediction)) << name;
    for (const graph::NodeId id : inference->compute) {
      EXPECT_EQ(ops.find(inference->graph.node(id).op)->level, graph::OpLevel::kModel) << name;
    }
  }
}

}  // namespace
}  // namespace lanista::autodiff
