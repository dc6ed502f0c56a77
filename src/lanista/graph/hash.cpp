#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/graph/infer.h"

// Two layers. The Merkle hash of a node covers its operator, its attributes and, through its inputs, all above it. It
// cannot tell one shared layer from two equal ones, add(a, a) from add(a, b), and these are different models. So where
// two nodes have the same Merkle hash, every node gets a canonical number (colour refinement, Weisfeiler and Leman,
// then one of the alike is marked and colours are refined again), and the numbered graph is hashed as it stands.

namespace lanista::graph {
namespace {

/// Bytes to be hashed; strings carry their length, so fields cannot run together.
class Key {
 public:
  Key& number(std::uint64_t v) {
    char raw[sizeof v];
    for (std::size_t i = 0; i < sizeof v; ++i) raw[i] = static_cast<char>((v >> (8 * i)) & 0xff);
    bytes_.append(raw, sizeof v);
    return *this;
  }
  Key& text(std::string_view s) {
    number(s.size());
    bytes_.append(s);
    return *this;
  }
  Key& digest(const Digest& d) { return number(d.hi).number(d.lo); }
  /// Hashes what was fed and starts anew; the memory is kept, since this runs for every node of every candidate.
  Digest finish() {
    const Digest d = hash_text(bytes_);
    bytes_.clear();
    return d;
  }

 private:
  std::string bytes_;
};

struct Edge {
  std::size_t node = 0;    ///< index of the node at the other end, or kNoNode
  std::uint64_t out = 0;   ///< output slot that is read
  std::uint64_t slot = 0;  ///< input slot that reads; the same for all inputs of a commutative operator
};
constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

struct Flat {
  std::vector<const Node*> nodes;  ///< in dependency order
  std::vector<bool> commutative;
  std::vector<std::vector<Edge>> inputs;
  std::vector<std::vector<Edge>> uses;
};

Flat flatten(const Graph& graph, const OpTable& ops) {
  Flat flat;
  std::map<NodeId, std::size_t> index;
  for (const NodeId id : graph.topo()) {
    index.emplace(id, flat.nodes.size());
    flat.nodes.push_back(&graph.node(id));
  }
  LANISTA_CHECK(flat.nodes.size() == graph.size(), "a graph with a cycle has no hash");

  flat.inputs.resize(flat.nodes.size());
  flat.uses.resize(flat.nodes.size());
  for (std::size_t v = 0; v < flat.nodes.size(); ++v) {
    const OpDef* def = ops.find(flat.nodes[v]->op);
    flat.commutative.push_back(def != nullptr && def->commutative);
    std::uint64_t slot = 0;
    for (const Port& port : flat.nodes[v]->inputs) {
      const auto at = index.find(port.node);
      const std::size_t source = at == index.end() ? kNoNode : at->second;
      flat.inputs[v].push_back({source, port.slot, slot});
      if (source != kNoNode) flat.uses[source].push_back({v, port.slot, slot});
      if (!flat.commutative[v]) ++slot;
    }
  }
  return flat;
}

void feed_value(const AttrValue& value, bool as_real, Key& key) {
  const auto real = [&](double v) {
    std::uint64_t bits = 0;
    v = v == 0.0 ? 0.0 : v;  // -0.0 is the same setting
    std::memcpy(&bits, &v, sizeof bits);
    key.number(2).number(bits);
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (as_real) return real(static_cast<double>(*integer));
    key.number(1).number(static_cast<std::uint64_t>(*integer));
  } else if (const auto* number = std::get_if<double>(&value)) {
    real(*number);
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    key.number(0).number(*flag ? 1 : 0);
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    key.number(3).text(*word);
  } else {
    const auto& list = std::get<std::vector<std::int64_t>>(value);
    key.number(4).number(list.size());
    for (const std::int64_t v : list) key.number(static_cast<std::uint64_t>(v));
  }
}

/// Operator and attributes; an attribute at its default is as good as left out.
void feed_operation(const Node& node, const OpTable& ops, Key& key) {
  key.text(node.op);
  const OpDef* def = ops.find(node.op);
  for (const auto& [name, value] : node.attrs) {
    bool as_real = false;
    if (def != nullptr) {
      const auto spec = std::find_if(def->attrs.begin(), def->attrs.end(),
                                     [&, &wanted = name](const AttrSpec& s) { return s.name == wanted; });
      if (spec != def->attrs.end()) {
        as_real = std::holds_alternative<double>(spec->default_value);
        const auto* integer = std::get_if<std::int64_t>(&value);
        const bool is_default = as_real && integer != nullptr
                                    ? static_cast<double>(*integer) == std::get<double>(spec->default_value)
                                    : value == spec->default_value;
        if (is_default && !spec->required) continue;
      }
    }
    key.text(name);
    feed_value(value, as_real, key);
  }
  key.number(~std::uint64_t{0});  // no name is that long: the end of the attributes
}

using Colours = std::vector<Digest>;
using Seen = std::vector<std::pair<Digest, std::pair<std::uint64_t, std::uint64_t>>>;

/// Colours at the far ends of some edges. Sorting forgets the order; slots are part of an entry where they matter.
void feed_edges(std::span<const Edge> edges, const Colours& colours, Seen& scratch, Key& key) {
  scratch.clear();
  for (const Edge& e : edges) {
    const Digest far = e.node == kNoNode ? Digest{} : colours[e.node];
    scratch.push_back({far, {e.out, e.slot}});
  }
  std::sort(scratch.begin(), scratch.end());
  key.number(scratch.size());
  for (const auto& [far, slots] : scratch) key.digest(far).number(slots.first).number(slots.second);
}

Colours merkle(const Flat& flat, const OpTable& ops) {
  Colours colours(flat.nodes.size());
  Key key;
  Seen scratch;
  for (std::size_t v = 0; v < flat.nodes.size(); ++v) {
    feed_operation(*flat.nodes[v], ops, key);
    feed_edges(flat.inputs[v], colours, scratch, key);
    colours[v] = key.finish();
  }
  return colours;
}

std::size_t num_distinct(Colours colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

/// Mixes in the colours of neighbours until no more nodes can be told apart. A sweep goes down the graph and up again,
/// each node after its neighbours on that side, so that a difference crosses the whole graph at once.
void refine(const Flat& flat, Colours& colours, std::size_t& sweeps) {
  std::size_t distinct = num_distinct(colours);
  Key key;
  Seen scratch;
  const auto mix = [&](std::size_t v, const std::vector<std::vector<Edge>>& edges) {
    key.digest(colours[v]);
    feed_edges(edges[v], colours, scratch, key);
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
void separate(const Flat& flat, Colours& colours) {
  // Bounds the time on graphs of thousands of alike nodes to a fraction of a second.
  std::size_t sweeps = 100'000 / (colours.size() + 1) + 1;
  Key key;
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
void feed_numbered(const Flat& flat, const OpTable& ops, const Colours& colours, Key& key) {
  std::vector<std::size_t> order(colours.size());
  for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return colours[a] < colours[b]; });
  std::vector<std::uint64_t> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = i;

  std::vector<std::pair<std::uint64_t, std::uint64_t>> sources;
  for (const std::size_t v : order) {
    feed_operation(*flat.nodes[v], ops, key);
    sources.clear();
    for (const Edge& e : flat.inputs[v]) {
      sources.emplace_back(e.node == kNoNode ? ~std::uint64_t{0} : number[e.node], e.out);
    }
    if (flat.commutative[v]) std::sort(sources.begin(), sources.end());
    key.number(sources.size());
    for (const auto& [source, out] : sources) key.number(source).number(out);
  }
}

}  // namespace

Digest canonical_hash(const Graph& graph, const OpTable& ops) {
  const Flat flat = flatten(graph, ops);
  Colours colours = merkle(flat, ops);

  // What nobody reads stands for all that leads to it; in a model this is the output alone.
  Colours ends;
  for (std::size_t v = 0; v < flat.nodes.size(); ++v) {
    if (flat.uses[v].empty()) ends.push_back(colours[v]);
  }
  std::sort(ends.begin(), ends.end());
  Key key;
  key.number(flat.nodes.size()).number(ends.size());
  for (const Digest& end : ends) key.digest(end);

  if (num_distinct(colours) < colours.size()) {
    separate(flat, colours);
    feed_numbered(flat, ops, colours, key);
  }
  return key.finish();
}

}  // namespace lanista::graph
