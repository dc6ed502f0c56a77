#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"

namespace lanista::graph {

/// Returns the text form of a graph: one line for each node, in dependency order.
///
///     %0 = input(shape=[64])
///     %1 = linear(%0, out=64) "hidden"
///     %3 = add(%1, %2.1)
///
/// The number after % is the node id, `.k` an output number above 0, and a trailing string the label. `#` starts a
/// comment. If ids above the largest one in the graph were used, a first line such as "next_id 9" gives the next free
/// id.
std::string to_text(const Graph& graph);

/// Reads a graph from its text form, so that parse(to_text(g)) == g for a graph inside the limits. It checks the syntax
/// only; `verify` checks the model. Lines may have any order.
///
/// Limits: 100,000 nodes, 64 inputs and 64 attributes a node, 400,000 attributes in all, 64 elements a list, 4096 bytes
/// a string. Errors: kInvalidArgument for a syntax error, an id that occurs twice or an exceeded limit, with
/// "line:column" in `where`.
Result<Graph> parse(std::string_view text);

/// Returns the line of one node in the text form, without a line end.
std::string node_text(const Node& node);
/// Returns a port in the text form: "%2", or "%2.1" for an output above 0.
std::string port_text(Port port);

/// Returns the graph in the language of Graphviz (dot), with ids, operators, labels, attributes and connections.
std::string to_dot(const Graph& graph);

}  // namespace lanista::graph
