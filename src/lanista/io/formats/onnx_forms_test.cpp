// Forms that other tools write: constants between nodes, batches, computed shapes, external data.
#include <gtest/gtest.h>

#include <cstring>

#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/io/formats/onnx/onnx_shapes.h"
#include "lanista/io/formats/onnx/wire.h"
#include "support/io/formats/foreign_networks.h"
#include "support/io/formats/onnx_models.h"

namespace lanista::formats {
namespace {

using onnx::List;
using Names = std::vector<std::string>;

using test::floats;
using test::imported;
using test::integers;
using test::node;
using test::weight_values;

/// A model from "x" of this shape, batch included, to "y".
OnnxModel model(List shape, std::vector<OnnxNode> nodes, std::vector<Tensor> constants = {}, std::int64_t opset = 17) {
  OnnxModel made = test::model_with_batch(std::move(shape), std::move(nodes), std::move(constants));
  made.opset = opset;
  return made;
}

TEST(OnnxBatch, BecomesFreeForFixedBatch) {
  const auto reshaped = [](std::int64_t batch, const List& target) {
    return imported(model({batch, 2, 3}, {node("Reshape", {"x", "s"}, "y")}, {integers("s", target)}));
  };
  for (const List& target : {List{0, -1}, List{-1, 6}, List{1, 6}, List{0, 6}}) {
    EXPECT_EQ(reshaped(-1, target), "%1 = flatten(%0)\n") << graph::attr_text(target);
    EXPECT_EQ(reshaped(1, target), "%1 = flatten(%0)\n") << graph::attr_text(target);
  }
  EXPECT_EQ(reshaped(1, {1, -1}), "%1 = flatten(%0)\n");
  EXPECT_EQ(reshaped(4, {4, 3, 2}), "%1 = reshape(%0, shape=[3,2])\n");
  EXPECT_NE(reshaped(-1, {1, -1}).find("the batch does not stay in front"), std::string::npos);
  EXPECT_NE(reshaped(4, {2, 12}).find("the batch does not stay in front"), std::string::npos);
  EXPECT_NE(reshaped(-1, {-1, 3}).find("the batch does not stay in front"), std::string::npos);
  EXPECT_NE(reshaped(1, {6}).find("the batch does not stay in front"), std::string::npos);
  EXPECT_NE(reshaped(1, {0, 5}).find("cannot reshape [N, 2, 3] to [0, 5]"), std::string::npos);
}

TEST(OnnxBatch, IsFollowedThroughComputedShapes) {
  const std::vector<OnnxNode> nodes{node("Shape", {"x"}, "shape"),
                                    node("Gather", {"shape", "zero"}, "n"),
                                    node("Unsqueeze", {"n", "axes"}, "ns"),
                                    node("Slice", {"shape", "one", "end"}, "rest"),
                                    node("Mul", {"rest", "half"}, "doubled"),
                                    node("Div", {"doubled", "half"}, "again"),
                                    node("Concat", {"ns", "again", "open"}, "target", {{"axis", std::int64_t{0}}}),
                                    node("Reshape", {"x", "target"}, "y")};
  const std::vector<Tensor> constants{onnx::tensor_of_integers({0}), integers("axes", {0}), integers("one", {1}),
                                      integers("end", {2}),          integers("half", {2}), integers("open", {-1})};
  for (const std::int64_t batch : {-1, 1, 7}) {
    OnnxModel made = model({batch, 4, 3, 5}, nodes, constants);
    made.initializers[0].name = "zero";
    made.initializers[0].shape = {};
    EXPECT_EQ(imported(made), "%1 = reshape(%0, shape=[4,15])\n") << batch;
  }
  // A multiple of the batch is a size, but here it does not fit.
  const auto twice =
      model({-1, 4, 3}, {node("Shape", {"x"}, "s"), node("Mul", {"s", "two"}, "t"), node("Reshape", {"x", "t"}, "y")},
            {integers("two", {2, 1, 1})});
  EXPECT_NE(imported(twice).find("reshapes [N, 4, 3] to [2N, 4, 3]"), std::string::npos) << imported(twice);
}

TEST(OnnxBatch, IsShownAsN) {
  const auto flattened = [](const List& shape, std::int64_t axis) {
    return imported(model(shape, {node("Flatten", {"x"}, "y", {{"axis", axis}})}));
  };
  EXPECT_EQ(flattened({-1, 2, 3}, 2),
            "unimplemented: onnx: the output is [2N, 3]: the batch does not stay in front of something");
  EXPECT_EQ(flattened({-1, 2, 3}, 0),
            "unimplemented: onnx: the output is [1, 6N]: the batch does not stay in front of something");
  const auto computed = [](std::vector<OnnxNode> nodes) {
    nodes.insert(nodes.begin(), node("Shape", {"x"}, "s"));
    return imported(model({-1, 2, 3}, std::move(nodes), {integers("n", {1, 2, 3})}));
  };
  const std::string added = computed({node("Add", {"s", "n"}, "t"), node("Reshape", {"x", "t"}, "y")});
  EXPECT_NE(added.find("number 1 of \"t\" computes with the batch"), std::string::npos) << added;
  const std::string twice =
      computed({node("Concat", {"s", "s"}, "t", {{"axis", std::int64_t{0}}}), node("Reshape", {"x", "t"}, "y")});
  EXPECT_NE(twice.find("cannot reshape [N, 2, 3] to [N, 2, 3, N, 2, 3]"), std::string::npos) << twice;
}

TEST(OnnxBatch, FlattenedBatchIsVectorOfOnes) {
  const auto means = node("ReduceMean", {"x"}, "m", {{"axes", List{1, 2}}, {"keepdims", std::int64_t{0}}});
  EXPECT_EQ(imported(model({-1, 2, 3}, {means, node("Flatten", {"m"}, "y")})),
            "%1 = mean(%0, axes=[1,2], keep=false)\n%2 = flatten(%1)\n");
}

TEST(OnnxBatchNorm, ImportsMomentumAndEpsilon) {
  for (const List& shape : {List{-1, 2}, List{-1, 2, 3, 4}}) {
    const auto scaled =
        model(shape, {node("BatchNormalization", {"x", "g", "b", "m", "v"}, "n"), node("Mul", {"n", "three"}, "y")},
              {floats("g", {2}, {1, 2}), floats("b", {2}, {3, 4}), floats("m", {2}, {0, 0}), floats("v", {2}, {1, 1}),
               floats("three", {}, {3})});
    EXPECT_EQ(imported(scaled), "%1 = batch_norm(%0, eps=1e-05, momentum=0.1)\n") << graph::attr_text(shape);
    EXPECT_EQ(weight_values(scaled, 0), (std::vector<float>{3, 6}));
    EXPECT_EQ(weight_values(scaled, 1), (std::vector<float>{9, 12}));
  }
}

TEST(OnnxOutput, MustHaveTheShapeThatIsDeclared) {
  const auto declared = [](const List& shape) {
    OnnxModel made = model({-1, 2, 3}, {node("Flatten", {"x"}, "y")});
    made.outputs.front().shape = shape;
    return imported(made);
  };
  for (const List& fits : {List{}, List{-1, 6}, List{-1, -1}, List{4, 6}}) {
    EXPECT_EQ(declared(fits), "%1 = flatten(%0)\n") << graph::attr_text(fits);
  }
  for (const List& other : {List{-1, 5}, List{-1, 2, 3}, List{-1}}) {
    EXPECT_NE(declared(other).find(", but computed is [N, 6]"), std::string::npos) << declared(other);
  }
}

TEST(OnnxPool, RefusesCeilWindowThatDependsOnOpset) {
  const auto pooled = [](const std::string& op, std::int64_t opset, std::int64_t cells, const List& pads) {
    return imported(
        model({-1, 1, cells},
              {node(op, {"x"}, "y",
                    {{"kernel_shape", List{2}}, {"strides", List{2}}, {"pads", pads}, {"ceil_mode", std::int64_t{1}}})},
              {}, opset));
  };
  for (const auto* op : {"MaxPool", "AveragePool"}) {
    EXPECT_NE(pooled(op, 17, 5, {1, 1}).find("its last window along axis 2 begins in the padding"), std::string::npos);
    EXPECT_EQ(pooled(op, 22, 5, {1, 1}).find("padding: before"), std::string::npos) << pooled(op, 22, 5, {1, 1});
    EXPECT_EQ(pooled(op, 17, 5, {0, 0}).find("padding: before"), std::string::npos);
    EXPECT_EQ(pooled(op, 17, 4, {1, 1}).find("padding: before"), std::string::npos);
  }
}

TEST(OnnxConstants, AreFoldedThroughExporterOperators) {
  const auto product = [](std::vector<OnnxNode> nodes, std::vector<Tensor> constants) {
    nodes.push_back(node("MatMul", {"x", "w"}, "y"));
    return weight_values(model({-1, 2}, std::move(nodes), std::move(constants)), 0);
  };
  const Tensor matrix = floats("m", {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(product({node("Mul", {"m", "two"}, "d"), node("Sub", {"d", "m"}, "e"), node("Div", {"e", "two"}, "f"),
                     node("Add", {"f", "row"}, "w")},
                    {matrix, floats("two", {}, {2}), floats("row", {2}, {10, 20})}),
            (std::vector<float>{10.5F, 11.5F, 21, 22}));  // transposed to [out, in]
  EXPECT_EQ(
      product({node("Slice", {"m", "start", "end", "axis", "step"}, "w")},
              {matrix, integers("start", {-1}), integers("end", {-5}), integers("axis", {0}), integers("step", {-1})}),
      (std::vector<float>{3, 1, 4, 2}));
  EXPECT_EQ(
      product({node("Gather", {"m", "order"}, "w", {{"axis", std::int64_t{1}}})}, {matrix, integers("order", {1, -2})}),
      (std::vector<float>{2, 4, 1, 3}));
  EXPECT_EQ(product({node("Constant", {}, "c", {{"value_floats", std::vector<float>{5, 6}}}),
                     node("Unsqueeze", {"c"}, "u", {{"axes", List{0}}}),
                     node("Concat", {"u", "u"}, "w", {{"axis", std::int64_t{0}}})},
                    {}),
            (std::vector<float>{5, 5, 6, 6}));
  EXPECT_EQ(product({node("Range", {"a", "b", "c"}, "r"), node("Cast", {"r"}, "f", {{"to", std::int64_t{1}}}),
                     node("Reshape", {"f", "s"}, "w")},
                    {[] {
                       auto t = integers("a", {0});
                       t.shape = {};
                       return t;
                     }(),
                     [] {
                       auto t = integers("b", {7});
                       t.shape = {};
                       return t;
                     }(),
                     [] {
                       auto t = integers("c", {2});
                       t.shape = {};
                       return t;
                     }(),
                     integers("s", {2, 2})}),
            (std::vector<float>{0, 4, 2, 6}));
  EXPECT_EQ(
      product({node("ConstantOfShape", {"s"}, "w", {{"value", floats("", {1}, {0.5F})}})}, {integers("s", {2, 2})}),
      std::vector<float>(4, 0.5F));
}

TEST(OnnxConstants, ExceedingBudgetAreRefused) {
  const auto filled = [](const List& shape) {
    return imported(
        model({-1, 2}, {node("ConstantOfShape", {"s"}, "w"), node("MatMul", {"x", "w"}, "y")}, {integers("s", shape)}));
  };
  EXPECT_EQ(filled({2, 3}), "%1 = linear(%0, bias=false, out=3)\n");
  EXPECT_TRUE(filled({2, std::int64_t{1} << 30}).starts_with("resource_exhausted")) << filled({2, 1 << 30});
  EXPECT_NE(filled({2, std::int64_t{1} << 62}).find("the shape overflows"), std::string::npos);
  EXPECT_NE(filled({2, -3}).find("below 0"), std::string::npos);
  std::vector<OnnxNode> nodes{node("Constant", {}, "c", {{"value_ints", List{9, 9}}}), node("Add", {"c", "c"}, "a0")};
  for (int i = 0; i < 70; ++i)
    nodes.push_back(node("Mul", {"a" + std::to_string(i), "c"}, "a" + std::to_string(i + 1)));
  nodes.push_back(node("Relu", {"x"}, "y"));
  EXPECT_NE(imported(model({-1, 2}, nodes)).find("its integers overflow"), std::string::npos);
}

TEST(OnnxConstants, AppliedToValuesBecomeOneOperator) {
  const std::vector<OnnxNode> chain{node("Mul", {"x", "s"}, "a"), node("Add", {"t", "a"}, "b"),
                                    node("Div", {"b", "two"}, "y")};
  const OnnxModel channels =
      model({-1, 2, 3, 3}, chain,
            {floats("s", {2, 1, 1}, {1, 2}), floats("t", {1, 2, 1, 1}, {3, 4}), floats("two", {}, {2})});
  EXPECT_EQ(imported(channels), "%1 = depthwise_conv2d(%0, bias=true, kernel=[1])\n");
  EXPECT_EQ(weight_values(channels, 0), (std::vector<float>{0.5F, 1}));
  EXPECT_EQ(weight_values(channels, 1), (std::vector<float>{1.5F, 2}));
  EXPECT_EQ(imported(model({-1, 4}, {node("Mul", {"three", "x"}, "y")}, {floats("three", {1}, {3})})),
            "%1 = scale_by(%0, by=3.0)\n");
  EXPECT_EQ(weight_values(model({-1, 2}, {node("Sub", {"t", "x"}, "y")}, {floats("t", {2}, {3, 4})}), 0),
            (std::vector<float>{-1, -1}));
  const OnnxModel norm =
      model({-1, 2, 3, 3},
            {node("BatchNormalization", {"x", "g", "b", "m", "v"}, "n"), node("Mul", {"n", "s"}, "a"),
             node("Add", {"a", "t"}, "y")},
            {floats("g", {2}, {1, 2}), floats("b", {2}, {1, 1}), floats("m", {2}, {0, 0}), floats("v", {2}, {1, 1}),
             floats("s", {2, 1, 1}, {2, 3}), floats("t", {2, 1, 1}, {5, 6})});
  EXPECT_EQ(imported(norm), "%1 = batch_norm(%0, eps=1e-05, momentum=0.1)\n");
  EXPECT_EQ(weight_values(norm, 0), (std::vector<float>{2, 6}));
  EXPECT_EQ(weight_values(norm, 1), (std::vector<float>{7, 9}));
  EXPECT_NE(
      imported(model({-1, 2}, {node("Div", {"x", "s"}, "a"), node("Add", {"a", "x"}, "y")}, {floats("s", {2}, {1, 0})}))
          .find("divides by 0"),
      std::string::npos);
  EXPECT_NE(imported(model({-1, 2, 2}, {node("Add", {"x", "s"}, "y")}, {floats("s", {2, 3}, {1, 2, 3, 4, 5, 6})}))
                .find("would stretch"),
            std::string::npos);
  EXPECT_EQ(imported(model({-1, 2, 1}, {node("Add", {"x", "s"}, "y")}, {floats("s", {2, 3}, {1, 2, 3, 4, 5, 6})})),
            "%1 = reshape(%0, shape=[2,1,1])\n"
            "%2 = upsample(%1, factor=[3,1], mode=\"nearest\")\n"
            "%3 = reshape(%2, shape=[2,3])\n"
            "%4 = positional_embedding(%3)\n");
  // A number alone is no weight.
  EXPECT_EQ(
      imported(model({-1, 4}, {node("Mul", {"x", "k"}, "h"), node("Add", {"h", "k"}, "y")}, {floats("k", {}, {3})})),
      "%1 = scale_by(%0, by=3.0)\n%2 = shift_by(%1, by=3.0)\n");
}

TEST(OnnxSoftmax, FlattensFromAxisBeforeOpset13) {
  const auto softmax = [](std::int64_t opset) {
    return imported(model({-1, 2, 3}, {node("Softmax", {"x"}, "y")}, {}, opset));
  };
  EXPECT_EQ(softmax(12), "%1 = flatten(%0)\n%2 = softmax(%1)\n%3 = reshape(%2, shape=[2,3])\n");
  EXPECT_EQ(softmax(13), "%1 = softmax(%0, axis=-1)\n");
}

TEST(OnnxNotices, ListFoldedNorms) {
  const Tensor weight = floats("onnx::Conv_12", {1, 1, 1, 1}, {1});
  const auto folded = from_onnx(model(
      {-1, 1, 2, 2}, {node("Conv", {"x", "onnx::Conv_12"}, "a"), node("Conv", {"a", "onnx::Conv_12"}, "y")}, {weight}));
  ASSERT_TRUE(folded.ok()) << folded.error().message;
  EXPECT_EQ(folded->notices,
            (std::vector<std::string>{
                "2 x convolution with a folded batch-norm: export in training mode, or without constant folding, to "
                "keep it trainable"}));
}

TEST(OnnxActivations, GeluHasTheFormOfTheFile) {
  const auto gelu = [](const std::string& form) {
    return from_onnx(model({-1, 2}, {node("Gelu", {"x"}, "y", {{"approximate", form}})}, {}, 20));
  };
  for (const auto& [form, op] : {std::pair("none", "gelu_erf"), std::pair("tanh", "gelu")}) {
    const auto read = gelu(form);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->graph.nodes()[1]->op, op);
    EXPECT_TRUE(read->notices.empty());
  }
}

TEST(OnnxExternal, RequestsNamedByteRange) {
  const auto entry = [](std::string_view key, std::string_view value) {
    return WireWriter().bytes(1, key).bytes(2, value);
  };
  const auto file = [&](std::string_view length, int location) {
    WireWriter tensor, graph, opset, out, info, type, dims, shape, node_bytes;
    tensor.varint(1, 2).varint(2, 1).bytes(8, "w").varint(14, static_cast<std::uint64_t>(location));
    tensor.message(13, entry("location", "weights.bin"))
        .message(13, entry("offset", "16"))
        .message(13, entry("length", length));
    node_bytes.bytes(1, "w").bytes(2, "y").bytes(4, "Identity");
    dims.message(1, WireWriter().varint(1, 2));
    type.message(1, WireWriter().varint(1, 1).message(2, dims));
    info.bytes(1, "y").message(2, type);
    graph.message(1, node_bytes).message(5, tensor).message(12, info);
    opset.bytes(1, "").varint(2, 13);
    out.varint(1, 8).message(7, graph).message(8, opset);
    return out.str();
  };
  std::string asked;
  const OnnxExternal two = [&](const std::string& name, std::uint64_t offset,
                               std::uint64_t length) -> Result<std::vector<std::byte>> {
    asked = name + " " + std::to_string(offset) + " " + std::to_string(length);
    return std::vector<std::byte>(8);
  };

  const auto read = decode_onnx(file("8", 1), two);

  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(asked, "weights.bin 16 8");
  EXPECT_EQ(read->initializers.at(0).shape, List{2});
  EXPECT_EQ(decode_onnx(file("8", 1)).error().code, Code::kUnimplemented);
  EXPECT_NE(decode_onnx(file("9", 1), two).error().message.find("the shape needs 8 bytes, external_data has 9"),
            std::string::npos);
  EXPECT_NE(decode_onnx(file("-1", 1), two).error().message.find("not a valid number of bytes"), std::string::npos);
  EXPECT_NE(decode_onnx(file("8", 2), two).error().message.find("data_location 2 is unknown"), std::string::npos);
  const OnnxExternal refusing = [](const std::string&, std::uint64_t, std::uint64_t) -> Result<std::vector<std::byte>> {
    return Error{Code::kIo, "no", "here"};
  };
  EXPECT_EQ(decode_onnx(file("8", 1), refusing).error().code, Code::kIo);
}

TEST(OnnxForeign, NetworksAreRead) {
  const auto networks = testing::foreign_networks();
  ASSERT_EQ(networks.size(), 5U);
  for (const testing::ForeignNetwork& network : networks) {
    const auto reread = decode_onnx(encode_onnx(network.file));
    ASSERT_TRUE(reread.ok()) << network.name << reread.error().message;
    const auto result = from_onnx(*reread);
    ASSERT_TRUE(result.ok()) << network.name << result.error().message;
    EXPECT_EQ(result->graph, network.model.graph);
    EXPECT_EQ(result->weights, network.model.weights);
  }
  EXPECT_EQ(
      graph::to_text(networks[2].model.graph),
      "%0 = input(shape=[4,10,10])\n"
      "%1 = conv2d(%0, bias=true, dilation=[1], groups=1, kernel=[1], out=8, padding=[0], stride=[1])\n"
      "%2 = relu6(%1)\n"
      "%3 = depthwise_conv2d(%2, bias=true, dilation=[1], kernel=[3], multiplier=1, padding=[0,1,0,1], stride=[2])\n"
      "%4 = relu6(%3)\n"
      "%5 = adaptive_avg_pool2d(%4, out=[1])\n"
      "%6 = conv2d(%5, bias=true, dilation=[1], groups=1, kernel=[1], out=4, padding=[0], stride=[1])\n"
      "%7 = relu(%6)\n"
      "%8 = conv2d(%7, bias=true, dilation=[1], groups=1, kernel=[1], out=8, padding=[0], stride=[1])\n"
      "%9 = hard_sigmoid(%8, alpha=0.2, beta=0.5)\n"
      "%10 = flatten(%9)\n"
      "%11 = scale(%4, %10)\n"
      "%12 = conv2d(%11, bias=true, dilation=[1], groups=1, kernel=[1], out=6, padding=[0], stride=[1])\n"
      "%13 = global_avg_pool(%12)\n"
      "%14 = linear(%13, bias=true, out=5)\n"
      "%15 = output(%14)\n");
}

}  // namespace
}  // namespace lanista::formats
