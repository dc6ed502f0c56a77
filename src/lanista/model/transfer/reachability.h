#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lanista/model/transfer/packed_model.h"

namespace lanista::zoo {

/// A set of node indices, as a bit vector. Indices must be below the size of the set, which is not checked.
class NodeSet {
 public:
  /// An empty set for indices below `nodes`.
  explicit NodeSet(std::size_t nodes = 0) : words_((nodes + 63) / 64) {}
  /// Adds a node by index.
  void add(std::size_t node) { words_[node / 64] |= std::uint64_t{1} << (node % 64); }
  /// Removes a node by index, if the set has it.
  void drop(std::size_t node) { words_[node / 64] &= ~(std::uint64_t{1} << (node % 64)); }
  /// True if the set contains the node.
  bool has(std::size_t node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  /// Adds all nodes of another set of the same size.
  void add_all(const NodeSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  /// The bits: node i is bit i % 64 of element i / 64.
  const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

/// Calls `visit` with the index of every node in (a & b) | (c & d), ascending. If `visit` returns false, it stops and
/// returns false; otherwise it returns true. All sets have the same size.
template <class Visit>
bool visit_crossings(const NodeSet& a, const NodeSet& b, const NodeSet& c, const NodeSet& d, Visit visit) {
  for (std::size_t w = 0; w < a.words().size(); ++w) {
    std::uint64_t bits = (a.words()[w] & b.words()[w]) | (c.words()[w] & d.words()[w]);
    for (; bits != 0; bits &= bits - 1) {
      if (!visit(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)))) return false;
    }
  }
  return true;
}

/// For every node of a model, the nodes that are connected with it by a path.
struct Reachability {
  std::vector<NodeSet> above;  ///< by node index: nodes from which a path leads to the node
  std::vector<NodeSet> below;  ///< by node index: nodes to which a path leads from the node

  /// Computes the sets. O(edges x nodes / 64).
  explicit Reachability(const PackedModel& model)
      : above(model.size(), NodeSet(model.size())), below(model.size(), NodeSet(model.size())) {
    for (std::size_t v = 0; v < model.size(); ++v) {
      for (const std::uint32_t u : model.inputs_of(v)) {
        above[v].add_all(above[u]);
        above[v].add(u);
      }
    }
    for (std::size_t v = model.size(); v-- > 0;) {
      for (const std::uint32_t u : model.inputs_of(v)) {
        below[u].add_all(below[v]);
        below[u].add(v);
      }
    }
  }
};

}  // namespace lanista::zoo
