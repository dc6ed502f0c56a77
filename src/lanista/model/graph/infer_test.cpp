#include "lanista/model/graph/infer.h"

#include <gtest/gtest.h>

#include "lanista/base/check.h"
#include "lanista/model/graph/text.h"
#include "support/model/graph/test_support.h"

namespace lanista::graph {
namespace {

using namespace testing;

Error refusal(std::string_view text) {
  const auto verified = verify(parsed(text), small_ops());
  EXPECT_FALSE(verified.ok()) << text;
  return verified.ok() ? Error{} : verified.error();
}

TEST(Verify, AcceptsModels) {
  EXPECT_TRUE(verify(small_model(), small_ops()).ok());
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    const Graph graph = random_model(rng);
    const auto verified = verify(graph, small_ops());
    ASSERT_TRUE(verified.ok()) << verified.error().text() << "\n" << to_text(graph);
  }
}

TEST(Verify, NamesUnknownOperators) {
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = rellu(%0)\n%2 = output(%1)\n"),
            (Error{Code::kNotFound, "%1 rellu: unknown operator; did you mean relu?", ""}));
}

TEST(Verify, RefusesOperatorsOfSteps) {
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = relu_grad(%0, %0)\n%2 = output(%1)\n"),
            (Error{Code::kInvalidArgument,
                   "%1 relu_grad: is an operator of training steps, which a model must not have", ""}));
}

TEST(Verify, RefusesDanglingInputs) {
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = relu(%7)\n%2 = output(%1)\n"),
            (Error{Code::kInvalidArgument, "%1 relu: reads %7, but there is no such node", ""}));
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = relu(%0.1)\n%2 = output(%1)\n").message,
            "%1 relu: reads %0.1, but %0 input has 1 output");
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = split(%0)\n%2 = output(%1.2)\n").message,
            "%2 output: reads %1.2, but %1 split has 2 outputs");
}

TEST(Verify, RefusesCyclesAndNamesANodeOnOne) {
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = relu(%4)\n%3 = add(%0, %4)\n%4 = gelu(%3)\n%5 = output(%1)\n").code,
            Code::kInvalidArgument);
  const std::string message =
      refusal("%0 = input(shape=[4])\n%1 = relu(%4)\n%3 = add(%0, %4)\n%4 = gelu(%3)\n%5 = output(%1)\n").message;
  EXPECT_TRUE(message == "%3 add: depends on its own result" || message == "%4 gelu: depends on its own result")
      << message;
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = add(%0, %1)\n%2 = output(%1)\n").message,
            "%1 add: depends on its own result");
}

TEST(Verify, RequiresOneInputAndOneOutput) {
  EXPECT_EQ(refusal(""), (Error{Code::kInvalidArgument, "a model has exactly one input, this one has 0", ""}));
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n").message, "a model has exactly one output, this one has 0");
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = input(shape=[4])\n%2 = add(%0, %1)\n%3 = output(%2)\n").message,
            "a model has exactly one input, this one has 2: %0, %1");
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = output(%0)\n%2 = output(%0)\n").message,
            "a model has exactly one output, this one has 2: %1, %2");
}

TEST(Verify, RequiresEveryNodeOnAPath) {
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = output(%0)\n").message,
            "%1 relu: is dead: its result does not reach the output");
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = output(%0)\n%2 = relu(%1)\n").message,
            "%2 relu: is dead: its result does not reach the output");

  OpTable ops = small_ops();
  OpDef constant = *ops.find("input");
  constant.name = "constant";
  ASSERT_TRUE(ops.add(constant).ok());
  const auto verified =
      verify(parsed("%0 = input(shape=[4])\n%1 = constant(shape=[4])\n%2 = add(%0, %1)\n%3 = output(%2)\n"), ops);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().message, "%1 constant: does not depend on the input");
}

TEST(Verify, NamesNodeAndShapesThatDoNotFit) {
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = linear(%0, out=3)\n%2 = add(%0, %1)\n%3 = output(%2)\n"),
            (Error{Code::kInvalidArgument, "%2 add([N, 4], [N, 3]): inputs differ: [N, 4] and [N, 3]", ""}));
  EXPECT_EQ(refusal("%0 = input(shape=[65536,65536,65536])\n%1 = output(%0)\n").message,
            "%0 input(): gives the shape [N, 65536, 65536, 65536], more than 2^31 elements a sample");
}

TEST(Verify, RefusesParametersAsInputsOfAModel) {
  EXPECT_EQ(refusal("%0 = input(shape=[4])\n%1 = linear(%0, %0, %0, out=3)\n%2 = output(%1)\n").message,
            "%1 linear: has 3 inputs, needs 1");
}

TEST(Verify, RejectsModelsWithoutTextForm) {
  GraphBuilder builder;
  const NodeId input = builder.add("input", {}, {{"shape", std::vector<std::int64_t>{4}}});
  const NodeId sum = builder.add("add", std::vector<Port>(65, Port{input, 0}));
  builder.add("output", {{sum}});
  const auto verified = verify(builder.peek(), small_ops());
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().message, "%1 add: has more than 64 inputs");
}

TEST(InferShapes, GivesTypesOfAllOutputs) {
  const auto types = infer_shapes(small_model(), small_ops());
  ASSERT_TRUE(types.ok());
  EXPECT_EQ(types->at({NodeId{1}, 0}).shape, (Shape{{kBatch, 8}}));
  EXPECT_EQ(types->at({NodeId{4}, 0}).shape, (Shape{{kBatch, 3}}));
  EXPECT_EQ(types->inputs(small_model().node(NodeId{3})).at(0).shape, (Shape{{kBatch, 8}}));
  EXPECT_THROW(types->at({NodeId{1}, 1}), InternalError);
  EXPECT_THROW(types->outputs(NodeId{9}), InternalError);
}

TEST(InferShapes, AcceptsStepGraphsWithParameterInputs) {
  const std::string sources = "%0 = input(shape=[4])\n%1 = parameter(shape=[3,4])\n%2 = parameter(shape=[3])\n";
  const auto types = infer_shapes(parsed(sources + "%3 = linear(%0, %1, %2, out=3)\n%4 = relu_grad(%3, %3)\n"
                                                   "%5 = linear(%0, %1, out=3, bias=false)\n"),
                                  small_ops());
  ASSERT_TRUE(types.ok()) << types.error().text();
  EXPECT_EQ(types->at({NodeId{4}, 0}).shape, (Shape{{kBatch, 3}}));

  const auto refused = [&](const std::string& line) {
    const auto inferred = infer_shapes(parsed(sources + line), small_ops());
    EXPECT_FALSE(inferred.ok());
    return inferred.ok() ? "" : inferred.error().message;
  };
  EXPECT_EQ(refused("%3 = linear(%0, %1, out=3)\n"),
            "%3 linear: has 1 inputs after its data inputs, needs its 2 parameters");
  EXPECT_EQ(refused("%3 = linear(%0, %2, %1, out=3)\n"), "%3 linear: parameter weight has shape [3], needs [3, 4]");
}

TEST(InferShapes, RefusesRulesThatGiveEmptyValues) {
  OpTable ops = small_ops();
  OpDef shrink = *ops.find("relu");
  shrink.name = "shrink";
  shrink.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    Shape shape = args.inputs[0].shape;
    shape.dims.back() -= 4;
    return std::vector<ValueType>{{shape, DType::kReal}};
  };
  ASSERT_TRUE(ops.add(shrink).ok());
  const auto types = infer_shapes(parsed("%0 = input(shape=[4])\n%1 = shrink(%0)\n"), ops);
  ASSERT_FALSE(types.ok());
  EXPECT_EQ(types.error().message, "%1 shrink([N, 4]): gives the shape [N, 0]; every dimension must be at least 1");
}

TEST(Parameters, ListsThemInDependencyOrderWithCheckpointNames) {
  const auto params = parameters(
      parsed("%5 = input(shape=[4])\n%7 = linear(%5, out=8)\n%2 = linear(%7, out=3, bias=false)\n%9 = output(%2)\n"),
      small_ops());
  ASSERT_TRUE(params.ok());
  std::string text;
  for (const NamedParam& p : *params) text += p.name + p.spec.shape.text() + " ";
  EXPECT_EQ(text, "n7.weight[8, 4] n7.bias[8] n2.weight[3, 8] ");
  EXPECT_EQ(params->front().spec.fan_in, 4);
}

TEST(ModelCost, AddsFlopsBytesAndParameters) {
  const auto cost = model_cost(small_model(), small_ops());
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->parameters, 4 * 8 + 8 + 8 * 3 + 3);
  EXPECT_EQ(cost->forward.flops, 2.0 * (4 * 8 + 8 * 3));
  // input writes 4 floats, relu reads and writes 8, output 3; the cost rule of linear gives 0 here.
  EXPECT_EQ(cost->forward.bytes, 4.0 * (4 + 16 + 6));
}

TEST(ModelCost, FailsLikeInferShapes) {
  const auto cost = model_cost(parsed("%0 = input(shape=[4])\n%1 = lineer(%0)\n"), small_ops());
  ASSERT_FALSE(cost.ok());
  EXPECT_EQ(cost.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace lanista::graph
