#include "lanista/io/formats/onnx/onnx_origins.h"

#include <gtest/gtest.h>

#include <set>

#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/graph/text.h"

namespace lanista::formats {
namespace {

OnnxModel linear_model(const std::string& shape = "3", const std::string& layer = "linear(%0, out=2)") {
  auto graph = graph::parse("%0 = input(shape=[" + shape + "])\n%1 = " + layer + "\n%2 = output(%1)\n");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  std::vector<Tensor> weights;
  const auto params = graph::parameters(*graph, graph::builtin_ops());
  for (const graph::NamedParam& param : *params) {
    Tensor tensor{.name = param.name, .type = ElementType::kF32, .shape = param.spec.shape.dims, .bytes = {}};
    tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * sizeof(float));
    float next = 0.25F;
    for (float& x : elements_of<float>(tensor)) x = next += 0.5F;
    weights.push_back(std::move(tensor));
  }
  auto model = to_onnx(*graph, weights, {.mean = {0.5}, .scale = {2}, .metadata = {}});
  EXPECT_TRUE(model.ok()) << model.error().text();
  return *std::move(model);
}

TEST(OnnxOrigins, AreTakenAsTheyWereAdded) {
  OnnxModel plain = linear_model();
  plain.nodes.back().name = "output";  // as in a blend
  for (const OnnxOrigins& origins : {OnnxOrigins{{1.7e9, 0, -3.25}, {1e9, 2}}, OnnxOrigins{{1.7e9, 0, 1}, {}},
                                     OnnxOrigins{{}, {1e9, 1}}, OnnxOrigins{{1.7e9}, {}}, OnnxOrigins{}}) {
    OnnxModel model = plain;
    add_origins(origins, model);
    EXPECT_EQ(model.inputs[0].type, origins.input.empty() ? ElementType::kF32 : ElementType::kF64);
    EXPECT_EQ(model.outputs[0].type, origins.output.empty() ? ElementType::kF32 : ElementType::kF64);
    std::set<std::string> names;
    for (const OnnxNode& node : model.nodes) EXPECT_TRUE(names.insert(node.name).second) << node.name;
    auto read = decode_onnx(encode_onnx(model));
    ASSERT_TRUE(read.ok()) << read.error().text();

    EXPECT_EQ(take_origins(*read), origins);

    EXPECT_EQ(encode_onnx(*read), encode_onnx(plain));
  }
}

TEST(OnnxOrigins, OfChannelsBroadcast) {
  OnnxModel model = linear_model("2, 4, 4", "conv2d(%0, out=3, kernel=[3,3])");
  const OnnxOrigins origins{{5e8, 7e8}, {}};
  add_origins(origins, model);

  const auto imported = from_onnx(model);

  ASSERT_TRUE(imported.ok()) << imported.error().text();
  EXPECT_EQ(imported->origins, origins);
  EXPECT_EQ(whole_means(*imported), (std::vector<double>{5e8 + 0.5, 7e8 + 0.5}));
}

TEST(OnnxOrigins, LeaveOtherDoublesAlone) {
  OnnxModel model = linear_model();
  add_origins({{1.7e9, 0, -3.25}, {1e9, 2}}, model);
  model.nodes[0].op = "Mul";
  const std::string bytes = encode_onnx(model);

  const auto imported = from_onnx(model);

  ASSERT_TRUE(imported.ok()) << imported.error().text();
  EXPECT_EQ(imported->origins, (OnnxOrigins{{}, {1e9, 2}})) << "the input is scaled, not shifted";
  OnnxModel taken = model;
  EXPECT_TRUE(take_origins(taken).input.empty());
  EXPECT_EQ(taken.inputs[0].type, ElementType::kF64);
  EXPECT_EQ(encode_onnx(model), bytes);
}

}  // namespace
}  // namespace lanista::formats
