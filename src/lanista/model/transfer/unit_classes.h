#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"

namespace lanista::zoo {

/// Disjoint sets of numbers.
class DisjointSets {
 public:
  std::size_t add(std::size_t count) {
    const std::size_t first = up_.size();
    up_.resize(first + count);
    std::iota(up_.begin() + static_cast<std::ptrdiff_t>(first), up_.end(), first);
    return first;
  }
  std::size_t find(std::size_t x) const {
    while (up_[x] != x) x = up_[x];
    return x;
  }
  void unite(std::size_t a, std::size_t b) {
    a = flatten(a), b = flatten(b);
    if (a == b) return;
    up_[std::max(a, b)] = std::min(a, b);  // the earlier one stays: classes are named alike however they came about
  }

 private:
  std::size_t flatten(std::size_t x) {
    const std::size_t root = find(x);
    while (up_[x] != root) x = std::exchange(up_[x], root);
    return root;
  }
  std::vector<std::size_t> up_;
};

/// Classes of units: (value, axis, index) that are one, because an operator passes them on or adds them up.
class UnitClasses {
 public:
  /// O(total of all dimensions), nearly.
  static UnitClasses of(const graph::Graph& graph, const graph::Types& types, const graph::OpTable& ops);

  std::size_t unit(graph::NodeId node, std::size_t axis, std::int64_t index) const {
    return sets_.find(axis_at(node, axis).first + static_cast<std::size_t>(index));
  }
  /// Axes with units in common.
  std::size_t group(graph::NodeId node, std::size_t axis) const { return groups_.find(axis_at(node, axis).number); }

 private:
  struct Axis {
    std::size_t first = 0;   // its units, one after the other
    std::size_t number = 0;  // among all axes
    std::int64_t size = 0;
  };
  const Axis& axis_at(graph::NodeId node, std::size_t axis) const { return axes_.at(node)[axis]; }
  void join(const graph::Node& node, const graph::Types& types, const graph::OpTable& ops);
  /// Indices `begin`, ... of one axis are those of the other from `other_begin`, as many as `count`.
  void run(const Axis& a, std::int64_t begin, const Axis& b, std::int64_t other_begin, std::int64_t count);
  void same(graph::NodeId a, std::size_t axis_a, graph::NodeId b, std::size_t axis_b);

  DisjointSets sets_, groups_;
  std::map<graph::NodeId, std::vector<Axis>> axes_;
};

}  // namespace lanista::zoo
