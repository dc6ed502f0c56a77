#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "lanista/model/graph/flat_graph.h"
#include "lanista/model/graph/infer.h"

// Two layers. The Merkle hash of a node covers its operator, its attributes and, through its inputs, all above it. It
// cannot tell one shared layer from two equal ones, add(a, a) from add(a, b), and these are different models. So where
// two nodes have the same Merkle hash, every node gets a canonical number (colour refinement, Weisfeiler and Leman,
// then one of the alike is marked and colours are refined again), and the numbered graph is hashed as it stands.

namespace lanista::graph {
namespace {

using Colours = std::vector<Digest>;

std::size_t num_distinct(Colours colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

/// Mixes in the colours of neighbours until no more nodes can be told apart. A sweep goes down the graph and up again,
/// each node after its neighbours on that side, so that a difference crosses the whole graph at once.
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

/// A different colour for every node; the same for graphs that differ only in ids.
void separate(const FlatGraph& flat, Colours& colours) {
  // Bounds the time on graphs of thousands of alike nodes to a fraction of a second.
  std::size_t sweeps = 100'000 / (colours.size() + 1) + 1;
  HashInput key;
  refine(flat, colours, sweeps);
  std::vector<std::size_t> order(colours.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
  while (true) {
    // Of the alike nodes with the smallest colour, any may be marked: they are images of one another.
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

/// The graph written down with canonical numbers in place of ids.
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

  // What nobody reads stands for all that leads to it; in a model this is the output alone.
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
