#include "lanista/engine/core/onnx_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/engine.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "support/io/formats/foreign_networks.h"

namespace lanista::engine {
namespace {

using formats::testing::ForeignNetwork;

/// The last operator in front of the output.
std::string last_op(const graph::Graph& graph) {
  return graph.node(graph.node(graph.nodes_of("output").front()).inputs.front().node).op;
}

TEST(OnnxFile, GivesModelAndWeights) {
  MemoryFileSystem files;
  const ForeignNetwork network = formats::testing::foreign_networks().back();
  ASSERT_TRUE(write_atomically(files, "net.onnx", formats::encode_onnx(network.file)));

  const auto imported = import_onnx_file(files, "net.onnx");

  ASSERT_TRUE(imported.ok()) << imported.error().text();
  EXPECT_EQ(imported->graph, network.model.graph);
  EXPECT_EQ(imported->weights, network.model.weights);
}

TEST(OnnxFile, NamesTheFileInErrors) {
  MemoryFileSystem files;
  ASSERT_TRUE(write_atomically(files, "folder/net.onnx", std::string_view("no model")));
  EXPECT_EQ(import_onnx_file(files, "folder/net.onnx").error().where, "folder/net.onnx");
  EXPECT_EQ(import_onnx_file(files, "nothing.onnx").error().code, Code::kNotFound);
}

TEST(OnnxFile, BecomesATrainableModel) {
  const auto networks = formats::testing::foreign_networks();
  std::vector<std::string> notices;
  ASSERT_EQ(last_op(networks[0].model.graph), "softmax");

  const auto cnn = trainable_form(networks[0].model.graph, notices);

  ASSERT_TRUE(cnn.ok()) << cnn.error().text();
  EXPECT_EQ(last_op(*cnn), "linear");
  EXPECT_TRUE(graph::verify(*cnn, graph::builtin_ops()).ok());
  EXPECT_EQ(notices, std::vector<std::string>{"the softmax at the end is left out; the loss has it"});
  EXPECT_EQ(*trainable_form(networks[1].model.graph, notices), networks[1].model.graph);
  EXPECT_EQ(notices.size(), 1U);
}

TEST(OnnxFile, LosesALogSoftmaxAtItsEnd) {
  const auto form = [](const std::string& end, std::vector<std::string>& notices) {
    const auto graph = graph::parse("%0 = input(shape=[4])\n%1 = linear(%0, out=3)\n" + end);
    const auto trainable = trainable_form(*graph, notices);
    return trainable ? last_op(*trainable) : trainable.error().text();
  };
  std::vector<std::string> notices;
  EXPECT_EQ(form("%2 = softmax(%1)\n%3 = log(%2)\n%4 = output(%3)\n", notices), "linear");
  EXPECT_EQ(notices, std::vector<std::string>{"the log-softmax at the end is left out; the loss has it"});
  EXPECT_EQ(form("%2 = sigmoid(%1)\n%3 = log(%2)\n%4 = output(%3)\n", notices), "log");
  EXPECT_EQ(notices.size(), 1U);
}

TEST(OnnxFile, IsABaseModelOfAStudy) {
  MemoryFileSystem files;
  const auto networks = formats::testing::foreign_networks();
  for (const ForeignNetwork& network : networks) {
    ASSERT_TRUE(write_atomically(files, network.name + ".onnx", formats::encode_onnx(network.file)));
  }
  study::StudyConfig config;
  data::DataSpec data;
  data.features = {{12}};
  data.classes = 5;
  config.model.base = {"rows.onnx"};

  const auto space = make_model_space(config, data, "", files);

  ASSERT_TRUE(space.ok()) << space.error().text();
  EXPECT_EQ((*space)->base(0).graph, networks[4].model.graph);
  config.model.base = {"mobile.onnx"};
  const auto misfit = make_model_space(config, data, "", files);
  ASSERT_FALSE(misfit.ok());
  EXPECT_EQ(misfit.error().where, "model.base[0]");
  EXPECT_NE(misfit.error().message.find("the model accepts [N, 4, 10, 10]"), std::string::npos)
      << misfit.error().message;
}

}  // namespace
}  // namespace lanista::engine
