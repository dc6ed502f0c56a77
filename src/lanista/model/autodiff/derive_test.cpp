#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/model/autodiff/test_models.h"

namespace lanista::autodiff {
namespace {

using graph::NodeId;
using graph::Port;

TrainingStep derived(const graph::Graph& model, StepOptions options = {}) {
  auto step = derive_training_step(model, options, training_ops(graph::builtin_ops()));
  LANISTA_CHECK(step.ok(), step ? "" : step.error().text());
  return *std::move(step);
}

// Lines of the step's text from its first forward node on.
std::string without_source_nodes(const TrainingStep& step) {
  std::string text;
  const std::string all = graph::to_text(step.graph);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin) + 1;
    const std::string line = all.substr(begin, end - begin);
    const bool source = line.find("input(") != std::string::npos || line.find("parameter(") != std::string::npos ||
                        line.find("buffer(") != std::string::npos || line.find("target(") != std::string::npos ||
                        line.find("slot(") != std::string::npos;
    if (!source) text += line;
    begin = end;
  }
  return text;
}

std::size_t count(const graph::Graph& graph, const std::string& op) { return graph.nodes_of(op).size(); }

TEST(TrainingStep, MatchesHandWrittenStepOfSmallMlp) {
  EXPECT_EQ(graph::to_text(derived(testing::small_mlp()).graph),
            "%0 = input(shape=[64])\n"
            "%1 = parameter(name=\"n1.weight\", shape=[64,64])\n"
            "%2 = parameter(name=\"n1.bias\", shape=[64])\n"
            "%3 = parameter(name=\"n3.weight\", shape=[10,64])\n"
            "%4 = parameter(name=\"n3.bias\", shape=[10])\n"
            "%5 = linear(%0, %1, %2, out=64)\n"
            "%6 = relu(%5)\n"
            "%7 = linear(%6, %3, %4, out=10)\n"
            "%8 = target(kind=\"index\", shape=[])\n"
            "%9 = cross_entropy(%7, %8)\n"
            "%10 = cross_entropy_grad(%9.1, %8)\n"
            "%11 = linear_grad_x(%10, %3)\n"
            "%12 = linear_grad_w(%6, %10)\n"
            "%13 = channel_sum(%10)\n"
            "%14 = relu_grad(%6, %11)\n"
            "%15 = linear_grad_w(%0, %14)\n"
            "%16 = channel_sum(%14)\n"
            "%17 = slot(name=\"n1.weight.momentum\", shape=[64,64])\n"
            "%18 = slot(name=\"n1.bias.momentum\", shape=[64])\n"
            "%19 = slot(name=\"n3.weight.momentum\", shape=[10,64])\n"
            "%20 = slot(name=\"n3.bias.momentum\", shape=[10])\n"
            "%21 = sgd_update(%1, %2, %3, %4, %15, %16, %12, %13, %17, %18, %19, %20)\n");
}

TEST(TrainingStep, UsesTrainFormsAndRenewsBuffers) {
  const graph::Graph model = testing::parsed(
      "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=4, bias=false)\n%2 = batch_norm(%1)\n"
      "%3 = max_pool2d(%2)\n%4 = dropout(%3, p=0.25)\n%5 = flatten(%4)\n%6 = linear(%5, out=10)\n%7 = output(%6)\n");

  const TrainingStep step = derived(model, {"cross_entropy", "adamw"});

  // %1..%5 parameters of n1, n2, n6; %6 and %7 buffers of n2; %14 the target; %25 to %34 the slots.
  EXPECT_EQ(without_source_nodes(step),
            "%8 = conv2d(%0, %1, bias=false, out=4)\n"
            "%9 = batch_norm_train(%8, %2, %3, %6, %7)\n"
            "%10 = max_pool2d_train(%9)\n"
            "%11 = dropout_train(%10, origin=4, p=0.25)\n"
            "%12 = flatten(%11)\n"
            "%13 = linear(%12, %4, %5, out=10)\n"
            "%15 = cross_entropy(%13, %14)\n"
            "%16 = cross_entropy_grad(%15.1, %14)\n"
            "%17 = linear_grad_x(%16, %4)\n"
            "%18 = linear_grad_w(%12, %16)\n"
            "%19 = channel_sum(%16)\n"
            "%20 = reshape(%17, shape=[4,3,3])\n"
            "%21 = dropout_train(%20, origin=4, p=0.25)\n"
            "%22 = max_pool2d_grad(%10.1, %21, input_size=[4,6,6])\n"
            "%23 = batch_norm_grad(%8, %9.1, %9.2, %22, %2)\n"
            "%24 = conv2d_grad_w(%0, %23, out=4)\n"
            "%35 = adamw_update(%1, %2, %3, %4, %5, %24, %23.1, %23.2, %18, %19, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34)\n"
            "%36 = buffer_update(%6, %9.3)\n"
            "%37 = buffer_update(%7, %9.4)\n");
  EXPECT_EQ(step.commit, (std::vector<NodeId>{{35}, {36}, {37}}));
  EXPECT_EQ(step.origin.at({22}), NodeId{3});
  EXPECT_EQ(step.origin.at({9}), NodeId{2});
}

TEST(TrainingStep, ExpandsDecomposedOperators) {
  const graph::Graph model = testing::parsed(
      "%0 = input(shape=[2,6,6])\n%1 = separable_conv2d(%0, out=4)\n%2 = global_avg_pool(%1)\n%3 = output(%2)\n");

  const TrainingStep step = derived(model);

  EXPECT_EQ(without_source_nodes(step),
            "%4 = conv2d(%0, %1, bias=false, groups=2, out=2)\n"
            "%5 = conv2d(%4, %2, %3, kernel=[1], out=4)\n"
            "%6 = global_avg_pool(%5)\n"
            "%8 = cross_entropy(%6, %7)\n"
            "%9 = cross_entropy_grad(%8.1, %7)\n"
            "%10 = mean_grad(%9, axes=[2,3], shape=[4,4,4])\n"
            "%11 = conv2d_grad_x(%10, %2, input_size=[2,4,4], kernel=[1], out=4)\n"
            "%12 = conv2d_grad_w(%4, %10, kernel=[1], out=4)\n"
            "%13 = channel_sum(%10)\n"
            "%14 = conv2d_grad_w(%0, %11, groups=2, out=2)\n"
            "%18 = sgd_update(%1, %2, %3, %14, %12, %13, %15, %16, %17)\n");
  ASSERT_EQ(step.state.size(), 3u);
  EXPECT_EQ(step.state[0].name, "n1.depthwise.weight");
}

TEST(TrainingStep, SumsSeveralGradientsInOneNodeInOrderOfUse) {
  const graph::Graph model = testing::parsed(
      "%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = relu(%1)\n%3 = tanh(%1)\n%4 = mul(%1, %3)\n"
      "%5 = add(%2, %4)\n%6 = output(%5)\n");

  const TrainingStep step = derived(model);

  const std::vector<NodeId> sums = step.graph.nodes_of("add");
  ASSERT_EQ(sums.size(), 2u);  // the model's, and the one sum of the three gradients of %1
  const graph::Node& sum = step.graph.node(sums.back());
  ASSERT_EQ(sum.inputs.size(), 3u);
  EXPECT_EQ(step.graph.node(sum.inputs[0].node).op, "relu_grad");
  EXPECT_EQ(step.graph.node(sum.inputs[1].node).op, "tanh_grad");
  EXPECT_EQ(step.graph.node(sum.inputs[2].node).op, "mul");
  EXPECT_EQ(step.origin.at(sum.id), NodeId{1});
}

TEST(TrainingStep, AddsGradientOfEveryUse) {
  const graph::Graph model =
      testing::parsed("%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = mul(%1, %1)\n%3 = output(%2)\n");

  const TrainingStep step = derived(model);

  EXPECT_EQ(count(step.graph, "mul"), 3u);
  ASSERT_EQ(count(step.graph, "add"), 1u);
  EXPECT_EQ(step.graph.node(step.graph.nodes_of("add").front()).inputs.size(), 2u);
}

TEST(TrainingStep, SkipsParametersWithoutGradient) {
  const graph::Graph model = testing::parsed(
      "%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = zero(%1)\n%3 = linear(%2, out=3)\n%4 = output(%3)\n");

  const TrainingStep step = derived(model);

  EXPECT_FALSE(step.gradient.contains(step.state[0].node));
  EXPECT_FALSE(step.gradient.contains(step.state[1].node));
  EXPECT_TRUE(step.gradient.contains(step.state[2].node));
  EXPECT_EQ(count(step.graph, "linear_grad_x"), 0u);
  EXPECT_EQ(count(step.graph, "linear_grad_w"), 1u);
  EXPECT_EQ(count(step.graph, "slot"), 2u);
  EXPECT_EQ(step.graph.node(step.commit.front()).inputs.size(), 6u);
}

TEST(TrainingStep, EvaluatesModelWithoutParameters) {
  const TrainingStep step = derived(testing::parsed("%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = output(%1)\n"));

  EXPECT_TRUE(step.gradient.empty());
  EXPECT_TRUE(step.commit.empty());
  EXPECT_EQ(without_source_nodes(step), "%1 = relu(%0)\n%3 = cross_entropy(%1, %2)\n");
}

TEST(TrainingStep, LearnsRealTargetsOfAnyShapeByMse) {
  const graph::Graph model = testing::parsed("%0 = input(shape=[3,4])\n%1 = linear(%0, out=2)\n%2 = output(%1)\n");

  const TrainingStep step = derived(model, {"mse", "adam"});

  EXPECT_EQ(step.types.at(step.target).shape.text(), "[N, 3, 2]");
  EXPECT_EQ(step.types.at(step.loss).shape.text(), "[N]");
  EXPECT_EQ(count(step.graph, "mse_grad"), 1u);
  EXPECT_EQ(count(step.graph, "slot"), 4u);
}

TEST(TrainingStep, ComputesOnlyNeededValuesInOrder) {
  for (const auto& [name, text] : testing::model_of_each_operator()) {
    const TrainingStep step = derived(testing::parsed(text));

    std::set<NodeId> done;
    for (const auto& node : step.graph.nodes()) done.insert(node->id);
    for (const NodeId id : step.compute) done.erase(id);
    for (const NodeId id : step.commit) done.erase(id);
    for (const NodeId id : done) EXPECT_TRUE(step.graph.node(id).inputs.empty()) << name;

    for (const NodeId id : step.compute) {
      for (const Port& port : step.graph.node(id).inputs) EXPECT_TRUE(done.contains(port.node)) << name;
      done.insert(id);
      const bool result = id == step.loss.node || id == step.prediction.node;
      EXPECT_TRUE(result || !step.graph.consumers(id).empty()) << name << " " << step.graph.node(id).op;
    }
    for (const NodeId id : step.commit) {
      for (const Port& port : step.graph.node(id).inputs) EXPECT_TRUE(done.contains(port.node)) << name;
    }
  }
}

TEST(TrainingStep, RefusesOutputsThatDoNotFitTheLoss) {
  const graph::OpTable ops = training_ops(graph::builtin_ops());
  for (const char* text : {"%0 = input(shape=[2,3,4])\n%1 = conv2d(%0, out=2, kernel=[1])\n%2 = output(%1)\n",
                           "%0 = input(shape=[3,4])\n%1 = linear(%0, out=1)\n%2 = output(%1)\n",
                           "%0 = input(shape=[4])\n%1 = linear(%0, out=1)\n%2 = output(%1)\n"}) {
    const auto step = derive_training_step(testing::parsed(text), {}, ops);

    ASSERT_FALSE(step);
    EXPECT_EQ(step.error().code, Code::kInvalidArgument);
    EXPECT_NE(step.error().message.find("at least two classes"), std::string::npos) << step.error().message;
  }
}

TEST(TrainingStep, AcceptsClassesAtEveryPosition) {
  const auto step =
      derive_training_step(testing::parsed("%0 = input(shape=[5,4])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n"), {},
                           training_ops(graph::builtin_ops()));

  ASSERT_TRUE(step) << step.error().text();
  EXPECT_EQ(step->types.at(step->target), (graph::ValueType{{{graph::kBatch, 5}}, graph::DType::kIndex}));
  EXPECT_EQ(step->types.at(step->loss), (graph::ValueType{{{graph::kBatch}}, graph::DType::kReal}));
}

TEST(TrainingStep, RefusesAModelThatDoesNotVerify) {
  const auto step = derive_training_step(testing::parsed("%0 = input(shape=[4])\n%1 = relu(%0)\n"), {},
                                         training_ops(graph::builtin_ops()));

  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, Code::kInvalidArgument);
}

TEST(TrainingStep, RefusesAGradientOfTheWrongShape) {
  graph::OpTable model_ops = graph::builtin_ops();
  graph::OpDef twice = *model_ops.find("tanh");
  twice.name = "widened";
  twice.gradient = [](graph::GradientContext& step) {
    step.set_input_grad(0, step.emit("concat", {step.grad(), step.grad()}));
  };
  ASSERT_TRUE(model_ops.add(twice));
  const graph::Graph model =
      testing::parsed("%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = widened(%1)\n%3 = output(%2)\n");

  const auto step = derive_training_step(model, {}, training_ops(model_ops));

  ASSERT_FALSE(step);
  EXPECT_NE(step.error().message.find("the gradient rule of widened gives [N, 8] for input 0, which is [N, 4]"),
            std::string::npos)
      << step.error().message;
}

TEST(TrainingStep, RemovesUnusedNodesOfRules) {
  graph::OpTable model_ops = graph::builtin_ops();
  graph::OpDef wasteful = *model_ops.find("tanh");
  wasteful.name = "wasteful";
  wasteful.gradient = [](graph::GradientContext& step) {
    step.emit("mul", {step.grad(), step.emit("silu", {step.grad()})});
    step.set_input_grad(0, step.grad());
  };
  ASSERT_TRUE(model_ops.add(wasteful));
  const graph::Graph model =
      testing::parsed("%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = wasteful(%1)\n%3 = output(%2)\n");

  const auto step = derive_training_step(model, {}, training_ops(model_ops));

  ASSERT_TRUE(step) << step.error().text();
  EXPECT_EQ(count(step->graph, "mul"), 0u);
  EXPECT_EQ(count(step->graph, "silu"), 0u);
  for (const auto& [id, model_node] : step->origin) EXPECT_TRUE(step->graph.contains(id));
}

TEST(InferenceStep, RunsOperatorsThemselves) {
  const graph::Graph model = testing::parsed(
      "%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = batch_norm(%1)\n%3 = dropout(%2)\n%4 = output(%3)\n");

  const auto step = derive_inference_step(model, training_ops(graph::builtin_ops()));

  ASSERT_TRUE(step) << step.error().text();
  EXPECT_EQ(graph::to_text(step->graph),
            "%0 = input(shape=[4])\n"
            "%1 = parameter(name=\"n1.weight\", shape=[4,4])\n"
            "%2 = parameter(name=\"n1.bias\", shape=[4])\n"
            "%3 = parameter(name=\"n2.weight\", shape=[4])\n"
            "%4 = parameter(name=\"n2.bias\", shape=[4])\n"
            "%5 = buffer(name=\"n2.running_mean\", shape=[4])\n"
            "%6 = buffer(name=\"n2.running_var\", shape=[4])\n"
            "%7 = linear(%0, %1, %2, out=4)\n"
            "%8 = batch_norm(%7, %3, %4, %5, %6)\n"
            "%9 = dropout(%8)\n");
  EXPECT_EQ(step->prediction, (Port{{9}, 0}));
}

TEST(TrainingStep, RejectsUnknownLossAndOptimizer) {
  const graph::OpTable ops = training_ops(graph::builtin_ops());
  const auto loss = derive_training_step(testing::small_mlp(), {.loss = "hinge"}, ops);
  const auto optimizer = derive_training_step(testing::small_mlp(), {.optimizer = "adma"}, ops);

  ASSERT_FALSE(loss || optimizer);
  EXPECT_EQ(loss.error().message, "no loss 'hinge'; known: cross_entropy, focal, mse, mae, huber, bce");
  EXPECT_TRUE(optimizer.error().message.starts_with("no optimizer 'adma'; known: sgd, adam, adamw"))
      << optimizer.error().message;
}

}  // namespace
}  // namespace lanista::autodiff
