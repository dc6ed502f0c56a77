#pragma once

#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"

namespace lanista::zoo {

/// Disjoint sets of the numbers 0, 1, 2, … with union and find.
class DisjointSets {
 public:
  /// Adds `count` new numbers, each in a separate set. Returns the first of them.
  std::size_t add(std::size_t count) {
    const std::size_t first = up_.size();
    up_.resize(first + count);
    std::iota(up_.begin() + static_cast<std::ptrdiff_t>(first), up_.end(), first);
    return first;
  }
  /// The smallest number in the set that contains `x`, which identifies the set.
  std::size_t find(std::size_t x) const {
    while (up_[x] != x) x = up_[x];
    return x;
  }
  /// Merges the sets that contain two numbers.
  void unite(std::size_t a, std::size_t b) {
    a = flatten(a), b = flatten(b);
    if (a == b) return;
    up_[std::max(a, b)] = std::min(a, b);  // the smaller one, so that the order of calls does not matter
  }

 private:
  std::size_t flatten(std::size_t x) {
    const std::size_t root = find(x);
    while (up_[x] != root) x = std::exchange(up_[x], root);
    return root;
  }
  std::vector<std::size_t> up_;
};

/// Classes of units of a model that have to be equal.
///
/// A unit is one index along one axis of output 0 of a node. Two units are in one class if an operator passes one on as
/// the other, or adds both.
class UnitClasses {
 public:
  /// Finds the classes of a model. Nearly O(sum of all dimensions).
  static UnitClasses of(const graph::Graph& graph, const graph::Types& types, const graph::OpTable& ops);

  /// The class of the unit with this index along an axis of output 0 of a node. Classes are compared by number.
  std::size_t unit(graph::NodeId node, std::size_t axis, std::int64_t index) const {
    return sets_.find(axis_at(node, axis).first + static_cast<std::size_t>(index));
  }
  /// The group of an axis, as a number. Two axes are in one group if a unit of one is in a class with a unit of the
  /// other, or if a chain of such axes joins them: they can only grow or shrink together.
  std::size_t group(graph::NodeId node, std::size_t axis) const { return groups_.find(axis_at(node, axis).number); }

 private:
  struct Axis {
    std::size_t first = 0;   // its first unit; the others follow
    std::size_t number = 0;  // number among all axes
    std::int64_t size = 0;
  };
  const Axis& axis_at(graph::NodeId node, std::size_t axis) const { return axes_.at(node)[axis]; }
  void join(const graph::Node& node, const graph::Types& types, const graph::OpTable& ops);
  /// Merges `count` units of one axis from `begin` with those of another axis from `other_begin`.
  void run(const Axis& a, std::int64_t begin, const Axis& b, std::int64_t other_begin, std::int64_t count);
  void same(graph::NodeId a, std::size_t axis_a, graph::NodeId b, std::size_t axis_b);

  DisjointSets sets_, groups_;
  std::map<graph::NodeId, std::vector<Axis>> axes_;
};

}  // namespace lanista::zoo
