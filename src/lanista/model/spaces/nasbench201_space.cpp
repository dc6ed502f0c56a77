#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/nasbench201.h"
#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate {
namespace {

using Nb201 = Nasbench201Cell;

std::string edge_label(const Nb201::Edge& edge) {
  return "edge_" + std::to_string(edge.from) + "_" + std::to_string(edge.to);
}

Block edge_block(const Nb201::Edge& edge, std::int64_t width) {
  std::vector<Option> options;
  for (const std::string_view name : Nb201::kOpNames) options.push_back({std::string(name), {}});
  options[Nb201::kNone].layers = {layer("zero")};
  options[Nb201::kConv1x1].layers = spaces::act_conv_bn(width, 1);
  options[Nb201::kConv3x3].layers = spaces::act_conv_bn(width, 3);
  options[Nb201::kAvgPool].layers = {spaces::avg_pool(3, 1)};
  return from({"v" + std::to_string(edge.from)}, choice(edge_label(edge), std::move(options)));
}

Chain cell(std::int64_t width) {
  Chain chain{named("v0", group({}))};
  for (int to = 1; to < 4; ++to) {
    std::vector<Chain> terms;
    for (const Nb201::Edge& edge : Nb201::kEdges) {
      if (edge.to == to) terms.push_back({edge_block(edge, width)});
    }
    chain.push_back(named("v" + std::to_string(to), parallel(std::move(terms))));
  }
  return chain;
}

// Halves the image: two convolutions, in parallel with a pool and a 1x1 convolution.
Block reduction(std::int64_t width) {
  return parallel({spaces::chained({spaces::act_conv_bn(width, 3, 2), spaces::act_conv_bn(width, 3)}),
                   {layer("avg_pool2d", {{"kernel", 2}, {"stride", 2}, {"ceil_mode", true}}),
                    layer("conv2d", {{"out", width}, {"kernel", 1}, {"bias", false}})}});
}

Nb201 cell_of(const space::Sample& sample) {
  Nb201 cell;
  for (std::size_t i = 0; i < cell.ops.size(); ++i) {
    const auto& name = std::get<std::string>(sample.at(edge_label(Nb201::kEdges[i])));
    const auto op = std::find(Nb201::kOpNames.begin(), Nb201::kOpNames.end(), name);
    cell.ops[i] = static_cast<Nb201::Op>(op - Nb201::kOpNames.begin());
  }
  return cell;
}

/// Adds no nodes, and accepts only the first of the cells that are equal under the published rule.
Block first_of_its_kind() {
  Custom filter{.name = "distinct", .parameters = {}, .build = {}, .slots = 1, .ids_per_slot = 1};
  space::Categorical ops;
  for (const std::string_view name : Nb201::kOpNames) ops.values.emplace_back(std::string(name));
  for (const Nb201::Edge& edge : Nb201::kEdges) filter.parameters.push_back({edge_label(edge), ops, {}});

  std::map<std::string, std::int64_t> firsts;
  for (std::int64_t i = 0; i < Nb201::kCount; ++i) {
    firsts.emplace(nasbench201_key(Nb201::at(i), Nasbench201Same::kSkipsAndZeros), i);
  }
  filter.build = [firsts = std::make_shared<const std::map<std::string, std::int64_t>>(std::move(firsts))](
                     const space::Sample& sample) -> Result<Chain> {
    const Nb201 cell = cell_of(sample);
    const std::int64_t first = firsts->at(nasbench201_key(cell, Nasbench201Same::kSkipsAndZeros));
    if (first == cell.index()) return Chain{};
    return Error{Code::kNotApplicable, "the cell is the same as " + nasbench201_text(Nb201::at(first)), ""};
  };
  return {.what = std::move(filter)};
}

Result<Blueprint> network(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  const auto stages = options.at("stages").get<std::int64_t>();
  const auto cells = options.at("cells").get<std::int64_t>();
  auto width = options.at("width").get<std::int64_t>();
  LANISTA_TRY(spaces::require_images("nasbench201", ends, std::int64_t{1} << (stages - 1)));

  Chain chain = spaces::conv_bn(width, 3);
  if (options.at("distinct").get<bool>()) chain.insert(chain.begin(), first_of_its_kind());
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    if (stage > 0) {
      width *= 2;
      chain.push_back(reduction(width));
    }
    chain.push_back(repeat(cells, {group(cell(width))}));
  }
  return Blueprint::make(
      ops, spaces::chained({std::move(chain), {layer("batch_norm"), layer("relu")}, spaces::classifier()}));
}

}  // namespace

PublishedSpace nasbench201_space() {
  return {
      "nasbench201",
      "one cell in every place: one of five operators on each of six edges between four values (15,625 cells)",
      "Dong and Yang, ICLR'20, section 2",
      {{"width", kInt, 8, 1, 4096, {}, "channels of the first stage; each further one doubles them"},
       {"cells", kInt, 1, 1, 16, {}, "cells of a stage"},
       {"stages", kInt, 2, 1, 5, {}, "stages, with a residual block of stride 2 between two"},
       {"distinct", kBool, false, {}, {}, {}, "only the first of cells that the paper counts as one: 6,466 are left"}},
      {{"cifar10", {{"width", 16}, {"cells", 5}, {"stages", 3}}}},
      network};
}

}  // namespace lanista::mutate
