#include <array>
#include <cmath>
#include <iterator>
#include <string>

#include "support/model/spaces/published_networks.h"

// Networks of inverted residuals and of shuffle blocks: MnasNet, MobileNetV3, ProxylessNAS, SPOS.
namespace lanista::mutate::testing {
namespace {

using space::Value;

Value number(std::int64_t n) { return Value(n); }

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
  // Its layers one by one. A gate has a quarter of the input channels of its block.
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

}  // namespace

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

}  // namespace lanista::mutate::testing
