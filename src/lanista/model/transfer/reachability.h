#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lanista/model/transfer/packed_model.h"

namespace lanista::zoo {

/// A set of node indices as a bit vector.
class NodeSet {
 public:
  /// An empty set for indices below `nodes`.
  explicit NodeSet(std::size_t nodes = 0) : words_((nodes + 63) / 64) {}
  /// Adds a node.
  void add(std::size_t node) { words_[node / 64] |= std::uint64_t{1} << (node % 64); }
  /// Removes a node.
  void drop(std::size_t node) { words_[node / 64] &= ~(std::uint64_t{1} << (node % 64)); }
  /// Whether the set contains a node.
  bool has(std::size_t node) const { return (words_[node / 64] >> (node % 64) & 1) != 0; }
  /// Adds all nodes of a set of the same size.
  void add_all(const NodeSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  /// The bits, 64 nodes a word.
  const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

/// Calls `visit` with every node in (a & b) | (c & d), in order. Stops and returns false if `visit` returns false.
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

/// The nodes that are connected by paths, for every node of a model.
struct Reachability {
  std::vector<NodeSet> above;  ///< nodes from which a path leads to the node
  std::vector<NodeSet> below;  ///< nodes to which a path leads from the node

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
