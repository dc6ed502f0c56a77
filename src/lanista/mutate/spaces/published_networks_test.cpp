#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "lanista/graph/infer.h"
#include "lanista/graph/op.h"
#include "lanista/mutate/spaces/network_tables.h"
#include "lanista/mutate/spaces/published.h"

// The networks that the papers publish, as samples of our spaces at the sizes of the papers: as many trained numbers
// and as many multiply-adds as the layers of the papers have, and as many as were published.
namespace lanista::mutate {
namespace {

using nlohmann::json;
using space::Sample;
using space::Value;
using tables::CellTable;
using tables::Tally;

Value word(std::string text) { return Value(std::move(text)); }
Value number(std::int64_t n) { return Value(n); }

/// A network of a paper.
struct Network {
  std::string name;
  std::string space;
  json options;
  Sample sample;
  Tally table;                 ///< the sum over its layers
  std::int64_t published = 0;  ///< trained numbers that a public implementation counts; 0: none is known
  double rounded = 0;          ///< millions in the paper, to one digit behind the point; 0: none there
  double macs = 0;             ///< millions of multiply-adds that were published; 0: none
  double tolerance = 0;        ///< of that, relative
};

Ends ends_of(const Network& network) {
  const std::string preset = network.options.at("preset");
  if (preset.find("cifar10") != std::string::npos) return ends(graph::Shape{{3, 32, 32}}, 10);
  const bool large = network.space == "nasnet" && preset.ends_with("-large");
  const std::int64_t size = large ? 331 : 224;
  return ends(graph::Shape{{3, size, size}}, 1000);
}

/// "first", "second", "1", "2", …: what our cells call the value that a table has under a number.
std::string value_name(int number, bool newest_first) {
  if (number < 2) return (number == 0) == newest_first ? "second" : "first";
  return std::to_string(number - 1);
}

/// The choices of one cell. With `distinct` inputs they are one choice, the earlier value first.
void add_cell(Sample& sample, const std::string& label, const CellTable& cell, bool newest_first, bool distinct) {
  for (std::size_t i = 0; i < cell.steps.size(); i += 2) {
    const std::string node = label + "/" + std::to_string(i / 2 + 1);
    auto left = cell.steps[i], right = cell.steps[i + 1];
    if (distinct && left.from > right.from) std::swap(left, right);
    const std::string from[] = {value_name(left.from, newest_first), value_name(right.from, newest_first)};
    if (distinct) sample[node + ".from"] = word(from[0] + "+" + from[1]);
    for (int input = 0; input < 2; ++input) {
      const std::string place = node + "." + std::to_string(input + 1);
      if (!distinct) sample[place + ".from"] = word(from[input]);
      sample[place + ".op"] = word(std::string((input == 0 ? left : right).op));
    }
  }
}

Sample cells(const CellTable& normal, const CellTable& reduce, bool newest_first, bool distinct = false) {
  Sample sample;
  add_cell(sample, "normal", normal, newest_first, distinct);
  add_cell(sample, "reduce", reduce, newest_first, distinct);
  return sample;
}

std::string gives(const CellTable& cell) {
  std::string text;
  for (const int value : cell.gives) text += (text.empty() ? "" : "+") + value_name(value, true);
  return text;
}

// Genotype DARTS_V2 of quark0/darts.
const CellTable kDartsNormal{
    {{"sep3", 0}, {"sep3", 1}, {"sep3", 0}, {"sep3", 1}, {"sep3", 1}, {"skip", 0}, {"skip", 0}, {"dilsep3", 2}},
    {2, 3, 4, 5}};
const CellTable kDartsReduce{
    {{"max3", 0}, {"max3", 1}, {"skip", 2}, {"max3", 1}, {"max3", 0}, {"skip", 2}, {"skip", 2}, {"max3", 1}},
    {2, 3, 4, 5}};

std::vector<Network> darts_networks() {
  const Sample sample = cells(kDartsNormal, kDartsReduce, false, true);
  const auto table = [](std::int64_t width, std::int64_t count, bool imagenet) {
    return tables::darts(
        {kDartsNormal, kDartsReduce, width, count, 0, imagenet ? 224 : 32, imagenet ? 1000 : 10, imagenet});
  };
  return {
      // Counted by quark0/darts' own program ("param size = 3.349342MB", where M is 10^6); Table 1: 3.3.
      {"DARTS-V2 (CIFAR-10)", "darts", {{"preset", "cifar10"}}, sample, table(36, 6, false), 3'349'342, 3.3},
      // Counted by osmr/imgclsmob, darts.py, which has 539.86 million operations, norms among them. Table 3: 4.7, and
      // 574,
      // which its layers do not have.
      {"DARTS-V2 (ImageNet)",
       "darts",
       {{"preset", "imagenet"}},
       sample,
       table(48, 4, true),
       4'718'752,
       4.7,
       539.86,
       0.02},
  };
}

// tensorflow/models, nasnet_utils.py. What the cells give is written down there: it is not what no node reads.
const CellTable kNasnetNormal{{{"sep5", 0},
                               {"sep3", 1},
                               {"sep5", 1},
                               {"sep3", 1},
                               {"avg3", 0},
                               {"skip", 1},
                               {"avg3", 1},
                               {"avg3", 1},
                               {"sep3", 0},
                               {"skip", 0}},
                              {1, 2, 3, 4, 5, 6}};
const CellTable kNasnetReduce{{{"sep5", 0},
                               {"sep7", 1},
                               {"max3", 0},
                               {"sep7", 1},
                               {"avg3", 0},
                               {"sep5", 1},
                               {"skip", 3},
                               {"avg3", 2},
                               {"sep3", 2},
                               {"max3", 0}},
                              {3, 4, 5, 6}};
// tensorflow/tpu, amoeba_net/model_specs.py, amoeba_net_a.
const CellTable kAmoebaNormal{{{"avg3", 0},
                               {"max3", 0},
                               {"sep3", 1},
                               {"skip", 1},
                               {"skip", 0},
                               {"avg3", 1},
                               {"sep3", 0},
                               {"sep5", 2},
                               {"avg3", 5},
                               {"sep3", 0}},
                              {1, 3, 4, 6}};
const CellTable kAmoebaReduce{{{"sep3", 1},
                               {"avg3", 0},
                               {"max3", 0},
                               {"sep7", 2},
                               {"max3", 1},
                               {"max3", 0},
                               {"sep3", 4},
                               {"conv7x1_1x7", 0},
                               {"avg3", 1},
                               {"sep7", 0}},
                              {2, 3, 4, 5, 6}};

Network nasnet(std::string name, const CellTable& normal, const CellTable& reduce, const std::string& preset,
               tables::CellNetwork size, bool past = false) {
  size.normal = normal;
  size.reduce = reduce;
  if (size.imagenet) size.classes = 1000;
  const json options{{"preset", preset}, {"normal_gives", gives(normal)}, {"reduce_gives", gives(reduce)}};
  return {.name = std::move(name),
          .space = "nasnet",
          .options = options,
          .sample = cells(normal, reduce, true),
          .table = tables::nasnet(size, past)};
}

Network with(Network network, std::int64_t published, double rounded, double macs = 0, double tolerance = 0) {
  network.published = published;
  network.rounded = rounded;
  network.macs = macs;
  network.tolerance = tolerance;
  return network;
}

std::vector<Network> nasnet_networks() {
  const auto of_nasnet = [](const char* name, const char* preset, const tables::CellNetwork& size, bool past = false) {
    return nasnet(name, kNasnetNormal, kNasnetReduce, preset, size, past);
  };
  const auto of_amoeba = [](const char* name, const char* preset, const tables::CellNetwork& size) {
    return nasnet(name, kAmoebaNormal, kAmoebaReduce, preset, size);
  };
  return {
      // Zoph et al., Tables 1, 2 and 3; counts by osmr/imgclsmob, nasnet.py. The large one is
      // of 88.9 million in the paper, and reads images of 331 x 331.
      with(of_nasnet("NASNet-A 6@768", "nasnet-cifar10", {{}, {}, 32, 6, 96}), 0, 3.3),
      with(of_nasnet("NASNet-A 4@1056", "nasnet-mobile", {{}, {}, 44, 4, 32, 224, 10, true}), 5'289'978, 5.3, 564,
           0.02),
      with(of_nasnet("NASNet-A 6@4032", "nasnet-large", {{}, {}, 168, 6, 96, 331, 10, true}, true), 88'753'150, 0,
           23'800, 0.01),
      // Real et al., Tables 1 and 2, and the appendix's for mobile sizes.
      with(of_amoeba("AmoebaNet-A (N=6, F=36)", "amoebanet-cifar10", {{}, {}, 36, 6, 108}), 0, 3.2),
      with(of_amoeba("AmoebaNet-A (N=4, F=50)", "amoebanet-mobile", {{}, {}, 50, 4, 32, 224, 10, true}), 0, 5.1, 555,
           0.02),
      with(of_amoeba("AmoebaNet-A (N=6, F=190)", "amoebanet-large", {{}, {}, 190, 6, 32, 331, 10, true}), 0, 86.7,
           23'100, 0.01),
  };
}

// melodyguan/enas, scripts/cifar10_micro_final.sh.
const CellTable kEnasNormal{{{"avg3", 0},
                             {"sep3", 0},
                             {"skip", 0},
                             {"sep5", 0},
                             {"skip", 0},
                             {"sep5", 1},
                             {"sep3", 1},
                             {"sep5", 0},
                             {"avg3", 0},
                             {"sep5", 1}},
                            {2, 3, 4, 5, 6}};
const CellTable kEnasReduce{{{"sep3", 1},
                             {"sep3", 1},
                             {"max3", 0},
                             {"avg3", 0},
                             {"sep5", 1},
                             {"sep5", 3},
                             {"sep3", 1},
                             {"skip", 0},
                             {"max3", 0},
                             {"sep5", 1}},
                            {2, 4, 5, 6}};

// The same repository, scripts/cifar10_macro_final.sh: window, then the layers that are read besides.
constexpr const char* kMacro[] = {
    "3",
    "5 0",
    "3 10",
    "5 001",
    "5 0000",
    "5 11010",
    "5 000001",
    "5 0110111",
    "3 01110101",
    "3 000000000",
    "5 0000010000",
    "3 10011000011",
    "5 010000010110",
    "3 0010001110101",
    "3 11010100000100",
    "5 001000000010101",
    "5 0100010011110010",
    "5 00001010100101001",
    "5 011010000010101000",
    "5 0110000000001100001",
    "3 10010110001000001100",
    "5 010110010110110100100",
    "3 1010100000000101001000",
    "3 11000111010001010011000",
};

std::vector<Network> enas_networks() {
  std::vector<tables::MacroLayer> layers;
  Sample sample;
  for (const std::string line : kMacro) {
    tables::MacroLayer layer{line[0] - '0', {}};
    for (std::size_t i = 2; i < line.size(); ++i) layer.skips.push_back(line[i] == '1');
    const std::string n = std::to_string(layers.size() + 1);
    sample["layer" + n] = word(line[0] == '3' ? "conv3" : "conv5");
    for (std::size_t i = 0; i < layer.skips.size(); ++i) {
      const std::string name = "l" + std::to_string(i);
      if (layer.skips.size() > 1) sample["skips" + n + "/" + name] = Value(layer.skips[i] == true);
      if (layer.skips.size() == 1) sample["skips" + n] = word(layer.skips[i] ? name : "none");
    }
    layers.push_back(std::move(layer));
  }
  // What that repository's program counts; the macro number also stands in the tests of its port
  // taming-wild-ai/neural-architecture-search. The paper says 4.6 M, and 21.3 M or 38.0 M, of networks that it does not
  // give: these are the ones that the repository trains.
  return {
      {.name = "ENAS micro",
       .space = "enas_micro",
       .options = {{"preset", "cifar10"}},
       .sample = cells(kEnasNormal, kEnasReduce, false),
       .table = tables::enas_micro({kEnasNormal, kEnasReduce, 36, 5}),
       .published = 3'894'372},
      {.name = "ENAS macro",
       .space = "enas_macro",
       .options = {{"preset", "cifar10"}},
       .sample = std::move(sample),
       .table = tables::enas_macro(layers, 96),
       .published = 42'559'392},
  };
}

// tensorflow/tpu, mnasnet_models.py, mnasnet_a1: kind, kernel, gate, layers of a block.
Network mnasnet_a1() {
  struct Row {
    const char* kind;
    std::int64_t kernel, layers;
    bool gate, skip;
  };
  constexpr Row kRows[] = {{"sepconv", 3, 1, false, false}, {"mbconv6", 3, 2, false, true},
                           {"mbconv3", 5, 3, true, true},   {"mbconv6", 3, 4, false, true},
                           {"mbconv6", 3, 2, true, true},   {"mbconv6", 5, 3, true, true},
                           {"mbconv6", 3, 1, false, true}};
  Network network{
      .name = "MnasNet-A1", .space = "mnasnet", .options = {{"preset", "imagenet"}}, .sample = {}, .table = {}};
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    const std::string b = "b" + std::to_string(i + 1) + "_";
    network.sample[b + "conv"] = word(kRows[i].kind);
    network.sample[b + "kernel"] = number(kRows[i].kernel);
    network.sample[b + "layers"] = number(kRows[i].layers);
    network.sample[b + "se"] = Value(kRows[i].gate);
    network.sample[b + "filters"] = number(4);
    network.sample[b + "skip"] = word(kRows[i].skip ? "identity" : "none");
  }
  // Its layers one by one; gates have a quarter of the channels that come into the block.
  network.table = tables::mobile({32,
                                  {{3, 32, 16, 0, 1},
                                   {3, 96, 24, 0, 2},
                                   {3, 144, 24, 0, 1},
                                   {5, 72, 40, 6, 2},
                                   {5, 120, 40, 10, 1},
                                   {5, 120, 40, 10, 1},
                                   {3, 240, 80, 0, 2},
                                   {3, 480, 80, 0, 1},
                                   {3, 480, 80, 0, 1},
                                   {3, 480, 80, 0, 1},
                                   {3, 480, 112, 20, 1},
                                   {3, 672, 112, 28, 1},
                                   {5, 672, 160, 28, 2},
                                   {5, 960, 160, 40, 1},
                                   {5, 960, 160, 40, 1},
                                   {3, 960, 320, 0, 1}},
                                  1280});
  return with(network, 3'887'038, 3.9, 312, 0.01);  // by osmr/imgclsmob, mnasnet.py; Tan et al., Table 1
}

// Howard et al., Table 1. The gates are rounded as in torchvision, mobilenetv3.py, which counts 5,483,032.
Network mobilenetv3_large() {
  struct Stage {
    std::int64_t kernel;
    std::vector<double> expand;
  };
  const Stage stages[] = {{3, {4, 3}}, {5, {3, 3, 3}}, {3, {6, 2.5, 2.3, 2.3}}, {3, {6, 6}}, {5, {6, 6, 6}}};
  Network network{
      .name = "MobileNetV3-Large", .space = "mobilenetv3", .options = {{"preset", "large"}}, .sample = {}, .table = {}};
  for (std::size_t i = 0; i < std::size(stages); ++i) {
    const std::string s = "s" + std::to_string(i + 1) + "_";
    network.sample[s + "depth"] = number(static_cast<std::int64_t>(stages[i].expand.size()));
    for (std::size_t j = 0; j < stages[i].expand.size(); ++j) {
      const double expand = stages[i].expand[j];
      const std::string round = "/" + std::to_string(j + 1);
      const bool whole = expand == std::floor(expand);
      network.sample[s + "expand" + round] = whole ? number(static_cast<std::int64_t>(expand)) : Value(expand);
      network.sample[s + "kernel" + round] = number(stages[i].kernel);
    }
  }
  network.table = tables::mobile({16,
                                  {{3, 16, 16, 0, 1},
                                   {3, 64, 24, 0, 2},
                                   {3, 72, 24, 0, 1},
                                   {5, 72, 40, 24, 2},
                                   {5, 120, 40, 32, 1},
                                   {5, 120, 40, 32, 1},
                                   {3, 240, 80, 0, 2},
                                   {3, 200, 80, 0, 1},
                                   {3, 184, 80, 0, 1},
                                   {3, 184, 80, 0, 1},
                                   {3, 480, 112, 120, 1},
                                   {3, 672, 112, 168, 1},
                                   {5, 672, 160, 168, 2},
                                   {5, 960, 160, 240, 1},
                                   {5, 960, 160, 240, 1}},
                                  960,
                                  1280,
                                  6});
  return with(network, 5'483'032, 5.4, 219, 0.02);
}

// mit-han-lab/proxylessnas, as laid out in osmr/imgclsmob, proxylessnas.py: for each layer kernel and expansion, "-"
// where it was left out.
Network proxylessnas(const std::string& preset, const std::vector<std::string>& stages, std::int64_t stem,
                     std::int64_t first, const std::vector<std::int64_t>& widths, std::int64_t head) {
  Network network{.name = "ProxylessNAS " + preset,
                  .space = "proxylessnas",
                  .options = {{"preset", preset}},
                  .sample = {},
                  .table = {}};
  tables::MobileNetwork table{stem, {{3, stem, first, 0, 1}}, head};
  std::int64_t in = first;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (std::size_t i = 0; 3 * i < stages[s].size(); ++i) {
      const std::string layer = stages[s].substr(3 * i, 2);
      const std::string label = "s" + std::to_string(s + 1) + "_l" + std::to_string(i + 1);
      const bool left_out = layer == "--";
      network.sample[label] = word(left_out ? "zero" : "mb" + layer.substr(0, 1) + "_" + layer.substr(1));
      if (left_out) continue;
      const std::int64_t stride = i == 0 && s != 3 && s != 5 ? 2 : 1;
      table.rows.push_back({layer[0] - '0', in * (layer[1] - '0'), widths[s], 0, stride});
      in = widths[s];
    }
  }
  network.table = tables::mobile(table);
  return network;
}

std::vector<Network> mobile_networks() {
  const Network gpu =
      proxylessnas("gpu", {"53 -- -- --", "73 -- -- 33", "76 -- -- 53", "56 -- 33 53", "76 76 76 56", "76"}, 40, 24,
                   {32, 56, 112, 128, 256, 432}, 1728);
  const Network mobile =
      proxylessnas("mobile", {"53 33 -- --", "73 33 53 53", "76 53 53 53", "56 53 53 53", "76 76 73 73", "76"}, 32, 16,
                   {32, 40, 80, 96, 192, 320}, 1280);
  const Network cpu =
      proxylessnas("cpu", {"36 33 33 33", "36 33 33 53", "36 -- -- 33", "56 33 33 33", "56 53 53 33", "56"}, 40, 24,
                   {32, 48, 88, 104, 216, 360}, 1432);
  Network spos{.name = "SPOS", .space = "spos", .options = {{"preset", "imagenet"}}, .sample = {}, .table = {}};
  constexpr std::array<int, 20> kBlocks{2, 1, 0, 1, 2, 0, 2, 0, 2, 0, 2, 3, 0, 0, 0, 0, 3, 2, 3, 3};
  const char* kinds[] = {"shuffle3", "shuffle5", "shuffle7", "xception"};
  for (std::size_t i = 0; i < kBlocks.size(); ++i) {
    spos.sample["block" + std::to_string(i + 1)] = word(kinds[kBlocks[i]]);
  }
  spos.table = tables::spos(kBlocks);
  return {mnasnet_a1(), mobilenetv3_large(),
          with(gpu, 7'119'848, 7.1, 465, 0.02),  // all three counted by osmr/imgclsmob
          with(mobile, 4'080'512, 0, 320, 0.02), with(cpu, 4'361'648, 0),
          // README of megvii-model/SinglePathOneShot: 3.5 M, 323 M.
          with(spos, 0, 3.5, 323, 0.01)};
}

std::vector<Network> all_networks() {
  std::vector<Network> all;
  for (const auto& make : {darts_networks, nasnet_networks, enas_networks, mobile_networks}) {
    for (Network& network : make()) all.push_back(std::move(network));
  }
  return all;
}

class PublishedNetworks : public testing::TestWithParam<Network> {
 protected:
  graph::Graph model() const {
    const Network& network = GetParam();
    const auto blueprint = published_space(network.space, network.options, ops_, ends_of(network));
    EXPECT_TRUE(blueprint.ok()) << blueprint.error().text();
    // Every choice is made, and none that the space does not have.
    EXPECT_TRUE(blueprint->part_of(network.sample) == network.sample);
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
  Tally tally_of(const graph::Graph& model) const {
    Tally tally;
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

TEST_P(PublishedNetworks, HaveTheSizesOfTheirPapers) {
  const Network& network = GetParam();
  const graph::Graph model = this->model();
  const Tally ours = tally_of(model);
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
    const double tenths = static_cast<double>(ours.parameters) / 1e5, said = std::round(10 * network.rounded);
    EXPECT_TRUE(said == std::round(tenths) || said == std::floor(tenths)) << network.rounded;
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

std::string shown(const testing::TestParamInfo<Network>& info) {
  std::string name;
  for (const char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Papers, PublishedNetworks, testing::ValuesIn(all_networks()), shown);

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

}  // namespace
}  // namespace lanista::mutate
