#include "lanista/model/transfer/match.h"

#include <algorithm>
#include <utility>

#include "lanista/model/graph/infer.h"
#include "lanista/model/transfer/alignment.h"

namespace lanista::zoo {
namespace {

constexpr double kWithoutWeights = 0.05;

/// Returns the operator with the attributes that decide the use of weights. Widths, windows and padding may differ.
std::string kind_of(const graph::Node& node, const graph::OpDef& def) {
  std::string out = node.op;
  for (const graph::AttrSpec& spec : def.attrs) {
    const bool counts = spec.name == "stride" || spec.name == "dilation" || spec.name == "groups" ||
                        spec.name == "multiplier" || spec.name == "causal" || spec.name == "mode";
    if (!counts) continue;
    const graph::AttrValue* value = node.attrs.find(spec.name);
    out += " " + spec.name + "=" + graph::attr_text(value != nullptr ? *value : spec.default_value);
  }
  return out;
}

}  // namespace

Result<MatchModel> MatchModel::of(const graph::Graph& graph, const graph::OpTable& ops) {
  LANISTA_TRY(graph::verify(graph, ops));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  MatchModel out;
  std::map<graph::NodeId, std::size_t> places;
  std::map<graph::NodeId, std::uint64_t> hashes;
  for (const graph::NodeHash& one : graph::structural_hashes(graph, ops)) hashes[one.id] = one.hash.lo;
  for (const graph::NodeId id : graph.topo()) {
    const graph::Node& node = graph.node(id);
    const graph::OpDef& def = *ops.find(node.op);
    Node one{id, kind_of(node, def), {}, 0, {}, 0, 0, hashes.at(id)};
    const auto inputs = types.inputs(node);
    if (def.params) {
      for (const graph::ParamSpec& spec : def.params({inputs, node.attrs, def})) {
        one.shapes.push_back(spec.shape.dims);
        one.params += spec.shape.elements_per_sample();
      }
    }
    for (const graph::Port& input : node.inputs) {
      const std::size_t from = places.at(input.node);
      one.inputs.push_back(from);
      ++out.nodes[from].readers;
      one.depth = std::max(one.depth, out.nodes[from].depth + 1);
    }
    out.params += one.params;
    places[id] = out.nodes.size();
    out.nodes.push_back(std::move(one));
  }
  const double deepest = std::max(1.0, std::ranges::max_element(out.nodes, {}, &Node::depth)->depth);
  for (Node& node : out.nodes) node.depth /= deepest;
  out.hash = graph::canonical_hash(graph, ops);
  return out;
}

std::vector<double> node_weights(const MatchModel& child, const MatchOptions& options) {
  if (options.unit_weights) return std::vector<double>(child.nodes.size(), 1.0);
  const auto param_signatures =
      static_cast<double>(std::ranges::count_if(child.nodes, [](const auto& node) { return node.params > 0; }));
  std::vector<double> out;
  for (const MatchModel::Node& node : child.nodes) {
    const auto all = static_cast<double>(std::max<std::int64_t>(child.params, 1));
    const double share = static_cast<double>(node.params) / all;
    out.push_back((node.params > 0 ? share * param_signatures : kWithoutWeights) *
                  (1 + options.lambda * (1 - node.depth)));
  }
  return out;
}

double benefit_of(std::int64_t overlap, std::int64_t child_params, std::int64_t parent_params) {
  constexpr std::int64_t kOfChild = 9;
  const std::int64_t all = kOfChild * child_params + parent_params;
  return all == 0 ? 0.0 : static_cast<double>((kOfChild + 1) * overlap) / static_cast<double>(all);
}

Match match(const MatchModel& parent, const MatchModel& child, const MatchOptions& options) {
  Signatures signatures;
  const PackedModel packed = pack_model(parent, signatures);
  const ChildModel side(child, options);
  const PairTable table(signatures, side.signatures);
  Alignment alignment(side, signatures, table);
  const double score = alignment.run(packed);
  NodePairs pairs = parent.hash == child.hash ? identical_pairs(packed, side.model) : NodePairs();
  if (pairs.empty()) pairs = improved(alignment.pairs(), packed, side, table);
  return match_of(pairs, score, packed, side, table);
}

}  // namespace lanista::zoo
