#include <algorithm>
#include <cmath>
#include <span>

#include <gtest/gtest.h>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/spaces/published.h"
#include "support/model/spaces/published_networks.h"

// The published networks have as many trained numbers and as many multiply-adds as the layers of the papers have, and
// as many as were published.
namespace lanista::mutate {
namespace {

using tables::NetworkSize;
using testing::Network;

ModelInterface ends_of(const Network& network) {
  const std::string preset = network.options.at("preset");
  if (preset.find("cifar10") != std::string::npos) return model_interface(graph::Shape{{3, 32, 32}}, 10);
  const bool large = network.space == "nasnet" && preset.ends_with("-large");
  const std::int64_t size = large ? 331 : 224;
  return model_interface(graph::Shape{{3, size, size}}, 1000);
}

std::vector<Network> all_networks() {
  std::vector<Network> all;
  for (const auto& make :
       {testing::darts_networks, testing::nasnet_networks, testing::enas_networks, testing::mobile_networks}) {
    for (Network& network : make()) all.push_back(std::move(network));
  }
  return all;
}

class PublishedNetworks : public ::testing::TestWithParam<Network> {
 protected:
  graph::Graph model() const {
    const Network& network = GetParam();
    const auto blueprint = published_space(network.space, network.options, ops_, ends_of(network));
    EXPECT_TRUE(blueprint.ok()) << blueprint.error().text();
    // Every choice is made, and none that the space does not have.
    for (const auto& [name, value] : network.sample) {
      EXPECT_EQ(std::ranges::count(blueprint->parameters(), name, &space::Parameter::name), 1) << name;
    }
    auto model = blueprint->expand(network.sample, ops_, ends_of(network));
    EXPECT_TRUE(model.ok()) << model.error().text();
    return *std::move(model);
  }

  static bool is_activation(std::string_view op) {
    for (const char* known : {"relu", "relu6", "sigmoid", "hard_sigmoid", "hard_swish"}) {
      if (op == known) return true;
    }
    return false;
  }

  /// By our own rules of cost: trained numbers, and half the FLOPs of convolutions and linear layers.
  NetworkSize network_size_of(const graph::Graph& model) const {
    NetworkSize tally;
    const auto types = graph::infer_shapes(model, ops_);
    EXPECT_TRUE(types.ok());
    double flops = 0;
    for (const graph::NodeId id : model.topo()) {
      const graph::Node& node = model.node(id);
      const graph::OpDef& def = *ops_.find(node.op);
      const auto inputs = types->inputs(node);
      const graph::OpArgs args{std::span(inputs).first(graph::num_data_inputs(node, def)), node.attrs, def};
      if (node.op == "linear" || node.op.find("conv2d") != std::string::npos) flops += def.cost(args).flops;
      tally.activations += is_activation(node.op) ? 1 : 0;
      tally.sums += node.op == "add" ? 1 : 0;
      tally.swishes += node.op == "hard_swish" ? 1 : 0;
      const bool rows = node.op == "slice" && args.integer("axis") == 2 && args.integer("start") == 1;
      tally.reductions += rows ? 1 : 0;
    }
    tally.macs = static_cast<std::int64_t>(std::llround(flops / 2));
    tally.parameters = graph::model_cost(model, ops_)->parameters;
    return tally;
  }

  const graph::OpTable ops_ = graph::builtin_ops();
};

TEST_P(PublishedNetworks, MatchPublishedSizes) {
  const Network& network = GetParam();
  const graph::Graph model = this->model();
  const NetworkSize ours = network_size_of(model);
  RecordProperty("parameters", std::to_string(ours.parameters));
  RecordProperty("macs", std::to_string(ours.macs));

  EXPECT_EQ(ours.parameters, network.table.parameters);
  EXPECT_EQ(ours.macs, network.table.macs);
  EXPECT_EQ(ours.activations, network.table.activations);
  EXPECT_EQ(ours.swishes, network.table.swishes);
  EXPECT_EQ(ours.sums, network.table.sums);
  EXPECT_EQ(ours.reductions, network.table.reductions);
  if (network.published > 0) {
    EXPECT_EQ(ours.parameters, network.published);
  }
  if (network.rounded > 0) {
    // Papers round to the nearest or down.
    const double tenths = static_cast<double>(ours.parameters) / 1e5, published = std::round(10 * network.rounded);
    EXPECT_TRUE(published == std::round(tenths) || published == std::floor(tenths)) << network.rounded;
  }
  if (network.macs > 0) {
    EXPECT_NEAR(static_cast<double>(ours.macs) / 1e6 / network.macs, 1, network.tolerance);
  }
}

TEST_P(PublishedNetworks, VerifyAndNeedNoRepair) {
  const graph::Graph model = this->model();

  EXPECT_TRUE(graph::verify(model, ops_).ok());
  for (const auto& node : model.nodes()) EXPECT_NE(node->label, "repair") << node->op;
}

std::string shown(const ::testing::TestParamInfo<Network>& info) {
  std::string name;
  for (const char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Papers, PublishedNetworks, ::testing::ValuesIn(all_networks()), shown);

}  // namespace
}  // namespace lanista::mutate
