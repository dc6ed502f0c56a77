#pragma once

#include <string>
#include <vector>

#include "lanista/model/graph/graph.h"

namespace lanista::report {

/// What became of a node on the way from a parent model to its child. Ids are stable, so nodes are matched by id.
struct NodeChange {
  enum class Kind { kSame, kAdded, kChanged, kRemoved };
  graph::NodeId node;
  Kind kind = Kind::kSame;
  std::string note;  ///< kChanged: "out 64 -> 128, input 1 %3 -> %9"; kRemoved: the node's line; else empty
  bool operator==(const NodeChange&) const = default;
};

/// One entry a node of either model, in id order. Labels do not count: they change no number.
std::vector<NodeChange> model_diff(const graph::Graph& parent, const graph::Graph& child);

}  // namespace lanista::report
