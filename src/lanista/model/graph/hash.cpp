#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "lanista/model/graph/flat_graph.h"
#include "lanista/model/graph/infer.h"

// The graph hash has two parts. The Merkle hash of a node covers its operator, its attributes and, through its inputs,
// all nodes before it. It is equal for one shared layer, add(a, a), and for two equal layers, add(a, b), which are
// different models. So if two nodes have equal Merkle hashes, every node gets a canonical number, and the numbered
// graph is hashed too. The numbers come from colour refinement (Weisfeiler and Leman): one of the alike nodes is
// marked, and colours are refined again.

namespace lanista::graph {
namespace {

using Colours = std::vector<Digest>;

std::size_t num_distinct(Colours colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

/// Mixes in the colours of neighbours until no more nodes get different colours. A sweep goes down the graph and up,
/// each node after its neighbours on that side, so that one sweep carries a difference through the whole graph.
void refine(const FlatGraph& flat, Colours& colours, std::size_t& sweeps) {
  std::size_t distinct = num_distinct(colours);
  HashInput key;
  NeighbourHasher ends;
  const auto mix = [&](std::size_t v, const EdgeLists& edges) {
    key.digest(colours[v]);
    ends.add_to_hash(edges[v], colours, key);
    colours[v] = key.finish();
  };
  while (distinct < colours.size() && sweeps > 0) {
    --sweeps;
    for (std::size_t v = 0; v < colours.size(); ++v) mix(v, flat.inputs);
    for (std::size_t v = colours.size(); v-- > 0;) mix(v, flat.uses);
    const std::size_t now = num_distinct(colours);
    if (now == distinct) return;
    distinct = now;
  }
}

/// Gives every node a different colour, independent of ids.
void separate(const FlatGraph& flat, Colours& colours) {
  // Limits the time for thousands of alike nodes to a fraction of a second.
  std::size_t sweeps = 100'000 / (colours.size() + 1) + 1;
  HashInput key;
  refine(flat, colours, sweeps);
  std::vector<std::size_t> order(colours.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
  while (true) {
    // Any of the alike nodes with the smallest colour may be marked, because a symmetry maps them to each other.
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      return std::tuple(colours[a], flat.nodes[a]->id) < std::tuple(colours[b], flat.nodes[b]->id);
    });
    const auto alike =
        std::adjacent_find(order.begin(), order.end(), [&](auto a, auto b) { return colours[a] == colours[b]; });
    if (alike == order.end()) return;
    if (sweeps == 0) break;
    colours[*alike] = key.text("marked").digest(colours[*alike]).finish();
    refine(flat, colours, sweeps);
  }
  for (std::size_t i = 0; i < order.size(); ++i) colours[order[i]] = key.number(i).digest(colours[order[i]]).finish();
}

/// Hashes the graph with canonical numbers instead of ids.
void hash_numbered(const FlatGraph& flat, const Colours& colours, HashInput& key) {
  std::vector<std::size_t> order(colours.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return colours[a] < colours[b]; });
  std::vector<std::uint64_t> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = i;

  std::vector<std::pair<std::uint64_t, std::uint64_t>> sources;
  for (const std::size_t v : order) {
    hash_operation(*flat.nodes[v], flat.defs[v], key);
    sources.clear();
    for (const Edge& e : flat.inputs[v]) {
      sources.emplace_back(e.node == kNoNode ? ~std::uint64_t{0} : number[e.node], e.out);
    }
    if (flat.commutative(v)) std::sort(sources.begin(), sources.end());
    key.number(sources.size());
    for (const auto& [source, out] : sources) key.number(source).number(out);
  }
}

}  // namespace

Digest canonical_hash(const Graph& graph, const OpTable& ops) {
  const FlatGraph flat = flatten(graph, ops);
  Colours colours = merkle_hashes(flat);

  // The nodes that no node reads cover all others. In a model this is the output alone.
  Colours ends;
  for (std::size_t v = 0; v < flat.size(); ++v) {
    if (flat.uses[v].empty()) ends.push_back(colours[v]);
  }
  std::sort(ends.begin(), ends.end());
  HashInput key;
  key.number(flat.size()).number(ends.size());
  for (const Digest& end : ends) key.digest(end);

  if (num_distinct(colours) < colours.size()) {
    separate(flat, colours);
    hash_numbered(flat, colours, key);
  }
  return key.finish();
}

}  // namespace lanista::graph
