#pragma once

#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::report {

/// The change of a node from a parent model to its child. Ids are stable, so nodes are matched by id.
struct NodeChange {
  /// The kind of change. kSame: none; kAdded: only the child has the node; kRemoved: only the parent has it.
  enum class Kind { kSame, kAdded, kChanged, kRemoved };
  graph::NodeId node;  ///< Id of the node.
  Kind kind = Kind::kSame;
  std::string note;  ///< Of kChanged: the changes, "out 64 -> 128". Of kRemoved: the node as text. Else empty.
  bool operator==(const NodeChange&) const = default;
};

/// Returns one entry for each node of either model, by rising id. Labels are ignored, since they have no effect.
std::vector<NodeChange> model_diff(const graph::Graph& parent, const graph::Graph& child);

}  // namespace lanista::report
