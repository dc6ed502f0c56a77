#pragma once

#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::report {

/// The change of a node from a parent model to its child. Ids are stable, so nodes are matched by id.
struct NodeChange {
  /// The kind of change.
  enum class Kind { kSame, kAdded, kChanged, kRemoved };
  graph::NodeId node;  ///< id of the node
  Kind kind = Kind::kSame;
  std::string note;  ///< kChanged: the changes, "out 64 -> 128"; kRemoved: the line of the node; else empty
  bool operator==(const NodeChange&) const = default;
};

/// One entry for each node of either model, in the order of ids. Labels are ignored, since they have no effect.
std::vector<NodeChange> model_diff(const graph::Graph& parent, const graph::Graph& child);

}  // namespace lanista::report
