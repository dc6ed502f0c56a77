#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"

namespace lanista::graph {

/// The text form of a model, one node a line in dependency order:
///   %0 = input(shape=[64])
///   %1 = linear(%0, out=64) "hidden"
///   %3 = add(%1, %2.1)
/// The number is the node id, `.k` an output slot above 0, a trailing string the label. `#` starts a comment.
/// A first line "next_id 9" stands only where ids beyond the largest were used.
std::string to_text(const Graph& graph);

/// The inverse: parse(to_text(g)) == g. Does not verify. Errors: kInvalidArgument with "line:column" in `where`.
/// At most 100,000 nodes, 64 inputs and 64 attributes a node, 400,000 attributes in all.
Result<Graph> parse(std::string_view text);

/// The line of one node, without the end of line.
std::string node_text(const Node& node);
/// "%2", or "%2.1" for an output above 0.
std::string port_text(Port port);

/// Graphviz source.
std::string to_dot(const Graph& graph);

}  // namespace lanista::graph
