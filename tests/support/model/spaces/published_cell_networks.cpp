#include <string>
#include <utility>

#include "support/model/spaces/published_networks.h"

// Networks of searched cells: DARTS, NASNet-A, AmoebaNet-A, ENAS.
namespace lanista::mutate::testing {
namespace {

using nlohmann::json;
using space::Sample;
using space::Value;
using tables::CellTable;

/// The name of a value in our cells ("first", "second", "1", "2", …) for its number in a table.
std::string value_name(int number, bool newest_first) {
  if (number < 2) return (number == 0) == newest_first ? "second" : "first";
  return std::to_string(number - 1);
}

/// The choices of one cell. With `distinct`, the inputs are one choice, the earlier value first.
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

// tensorflow/models, nasnet_utils.py. It lists the values that the cells join, which are not the unread ones.
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

// The same repository, scripts/cifar10_macro_final.sh: window, then the additional layers that are read.
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

}  // namespace

std::vector<Network> darts_networks() {
  const Sample sample = cells(kDartsNormal, kDartsReduce, false, true);
  const auto table = [](std::int64_t width, std::int64_t count, bool imagenet) {
    return tables::darts(
        {kDartsNormal, kDartsReduce, width, count, 0, imagenet ? 224 : 32, imagenet ? 1000 : 10, imagenet});
  };
  return {
      // Counted by the program of quark0/darts ("param size = 3.349342MB", where M is 10^6); Table 1: 3.3.
      {"DARTS-V2 (CIFAR-10)", "darts", {{"preset", "cifar10"}}, sample, table(36, 6, false), 3'349'342, 3.3},
      // Counted by osmr/imgclsmob, darts.py, which has 539.86 million operations, norms among them. Table 3: 4.7, and
      // 574, which its layers do not have.
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

std::vector<Network> nasnet_networks() {
  const auto of_nasnet = [](const char* name, const char* preset, const tables::CellNetwork& size, bool past = false) {
    return nasnet(name, kNasnetNormal, kNasnetReduce, preset, size, past);
  };
  const auto of_amoeba = [](const char* name, const char* preset, const tables::CellNetwork& size) {
    return nasnet(name, kAmoebaNormal, kAmoebaReduce, preset, size);
  };
  return {
      // Zoph et al., Tables 1, 2 and 3; counts by osmr/imgclsmob, nasnet.py. The large one is of 88.9
      // million in the paper, and reads images of 331 x 331.
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
  // Counted by the program of that repository; the macro number is also in the tests of its port
  // taming-wild-ai/neural-architecture-search. The paper has 4.6 M, and 21.3 M or 38.0 M, for networks that it does not
  // list. These are the networks that the repository trains.
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

}  // namespace lanista::mutate::testing
