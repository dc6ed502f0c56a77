#include <algorithm>
#include <array>
#include <utility>

#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/nasbench101.h"
#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate {
namespace {

using Nb101 = Nasbench101Cell;

constexpr int kInner = Nb101::kMaxVertices - 2;

std::string edge_name(int from, int to) { return "edge_" + std::to_string(from) + "_" + std::to_string(to); }
std::string op_name(int vertex) { return "op_" + std::to_string(vertex); }
std::string value_name(int vertex) { return "v" + std::to_string(vertex); }

std::vector<space::Parameter> cell_parameters() {
  std::vector<space::Parameter> parameters;
  for (int i = 0; i < Nb101::kMaxVertices; ++i) {
    for (int j = i + 1; j < Nb101::kMaxVertices; ++j) {
      parameters.push_back({edge_name(i, j), space::Categorical{{false, true}}, {}});
    }
  }
  const space::Categorical ops{{std::string("conv3x3"), std::string("conv1x1"), std::string("maxpool3x3")}};
  for (int v = 1; v <= kInner; ++v) parameters.push_back({op_name(v), ops, {}});
  return parameters;
}

Result<Nb101> cell_of(const space::Sample& sample) {
  std::array<bool, Nb101::kEdgeBits> edges{};
  auto edge = edges.begin();
  for (int i = 0; i < Nb101::kMaxVertices; ++i) {
    for (int j = i + 1; j < Nb101::kMaxVertices; ++j) *edge++ = std::get<bool>(sample.at(edge_name(i, j)));
  }
  std::array<Nb101::Op, kInner> ops{};
  for (int v = 1; v <= kInner; ++v) {
    const auto& name = std::get<std::string>(sample.at(op_name(v)));
    ops[static_cast<std::size_t>(v - 1)] = name == "conv3x3"   ? Nb101::kConv3x3
                                           : name == "conv1x1" ? Nb101::kConv1x1
                                                               : Nb101::kMaxPool3x3;
  }
  return nasbench101_cell(edges, ops);
}

// The output channels of a cell are divided among the vertices that feed it; the first ones get the remainder.
// Every other vertex is as wide as its widest reader.
std::vector<std::int64_t> channels_of(const Nb101& cell, std::int64_t width) {
  const int last = cell.vertices - 1;
  std::int64_t feeders = 0;
  for (int v = 1; v < last; ++v) feeders += cell.edge(v, last) ? 1 : 0;
  std::vector<std::int64_t> channels(static_cast<std::size_t>(cell.vertices), 0);
  const auto of = [&](int v) -> std::int64_t& { return channels[static_cast<std::size_t>(v)]; };
  of(last) = width;
  for (int v = 1, nth = 0; v < last; ++v) {
    if (cell.edge(v, last)) of(v) = width / feeders + (nth++ < width % feeders ? 1 : 0);
  }
  for (int v = last - 1; v >= 1; --v) {
    for (int to = v + 1; to < last && !cell.edge(v, last); ++to) {
      if (cell.edge(v, to)) of(v) = std::max(of(v), of(to));
    }
  }
  return channels;
}

// Slots of the blocks of a cell, so that two cells have the same ids at equal vertices and edges.
constexpr std::int64_t kOpSlot = 0, kProjectionSlot = 8, kSumSlot = 16, kCutSlot = 24, kSlots = 80;

// Builds the blocks of one cell with `width` output channels.
class CellWriter {
 public:
  CellWriter(const Nb101& cell, std::int64_t width)
      : cell_(cell), channels_(channels_of(cell, width)), last_(cell.vertices - 1) {}

  Chain write() && {
    put(named(value_name(0), group({})), kSumSlot);
    for (int v = 1; v < last_; ++v) write_vertex(v);
    std::vector<std::string> fed;
    for (int v = 1; v < last_; ++v) {
      if (cell_.edge(v, last_)) fed.push_back(value_name(v));
    }
    if (!fed.empty()) joined(fed, "concat", "inner", kSumSlot + last_);
    std::vector<std::string> terms;
    if (!fed.empty()) terms.push_back("inner");
    if (cell_.edge(0, last_)) terms.push_back(projection(last_));
    joined(terms, "add", "cell", kSumSlot + 7);
    return std::move(chain_);
  }

 private:
  void put(Block block, std::int64_t slot) {
    block.slot = slot;
    chain_.push_back(std::move(block));
  }

  void joined(const std::vector<std::string>& terms, const std::string& op, const std::string& name,
              std::int64_t slot) {
    put(terms.size() == 1 ? alias(name, terms[0]) : named(name, from(terms, layer(op))), slot);
  }

  std::string projection(int to) {
    const std::string name = "p" + std::to_string(to);
    put(named(name, from({value_name(0)}, group(spaces::conv_bn_act(channels(to), 1)))), kProjectionSlot + to);
    return name;
  }

  // The value of vertex `source`, cut to the width of `to`.
  std::string cut(int source, int to) {
    if (channels(source) == channels(to)) return value_name(source);
    const std::string name = "c" + std::to_string(source) + std::to_string(to);
    put(named(name, from({value_name(source)}, layer("slice", {{"axis", 1}, {"end", channels(to)}}))),
        kCutSlot + 7 * source + to);
    return name;
  }

  void write_vertex(int v) {
    std::vector<std::string> terms;
    for (int source = 1; source < v; ++source) {
      if (cell_.edge(source, v)) terms.push_back(cut(source, v));
    }
    if (cell_.edge(0, v)) terms.push_back(projection(v));
    joined(terms, "add", "sum", kSumSlot + v);
    const Nb101::Op op = cell_.ops[static_cast<std::size_t>(v - 1)];
    Chain layers = op == Nb101::kMaxPool3x3 ? Chain{spaces::max_pool(3, 1)}
                                            : spaces::conv_bn_act(channels(v), op == Nb101::kConv3x3 ? 3 : 1);
    put(named(value_name(v), from({"sum"}, group(std::move(layers)))), kOpSlot + v);
  }

  std::int64_t channels(int v) const { return channels_[static_cast<std::size_t>(v)]; }

  const Nb101& cell_;
  std::vector<std::int64_t> channels_;
  int last_;
  Chain chain_;
};

Block cell_block(std::int64_t width) {
  return {Custom{.name = "NAS-Bench-101 cell",
                 .parameters = cell_parameters(),
                 .build = [width](const space::Sample& sample) -> Result<Chain> {
                   LANISTA_ASSIGN(const Nb101 cell, cell_of(sample));
                   return CellWriter(cell, width).write();
                 },
                 .slots = kSlots}};
}

Result<Blueprint> network(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  const auto stacks = options.at("stacks").get<std::int64_t>();
  const auto cells = options.at("cells").get<std::int64_t>();
  auto width = options.at("width").get<std::int64_t>();
  LANISTA_TRY(spaces::require_images("nasbench101", ends, std::int64_t{1} << (stacks - 1)));

  Chain chain = spaces::conv_bn_act(width, 3);
  for (std::int64_t stack = 0; stack < stacks; ++stack) {
    if (stack > 0) {
      chain.push_back(layer("max_pool2d"));
      width *= 2;
    }
    chain.push_back(repeat(cells, {cell_block(width)}));
  }
  return Blueprint::make(ops, spaces::chained({std::move(chain), spaces::classifier()}));
}

}  // namespace

PublishedSpace nasbench101_space() {
  return {"nasbench101",
          "one cell in every place: any graph of at most seven vertices and nine edges (423,624 distinct cells)",
          "Ying et al., ICML'19, section 2",
          {{"width", kInt, 16, kInner, 4096, {}, "channels of the first stack; each further one doubles them"},
           {"cells", kInt, 1, 1, 16, {}, "cells of a stack"},
           {"stacks", kInt, 2, 1, 5, {}, "stacks, with a max-pool between two"}},
          {{"cifar10", {{"width", 128}, {"cells", 3}, {"stacks", 3}}}},
          network};
}

}  // namespace lanista::mutate
