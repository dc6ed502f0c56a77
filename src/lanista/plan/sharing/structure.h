#pragma once

#include <cstddef>
#include <string>

#include "lanista/base/digest.h"
#include "lanista/plan/sharing/logical_graph.h"

// When two trials may be lanes of one program, and what tells them apart.
namespace lanista::fuse {

/// Equal where the whole training step is: the trained parts have the same operations, wired the same way in the same
/// order (which decides the order of summation, hence the bits), over sources of equal types, with equal loss,
/// optimiser, batch size, precision and frozen nodes. Node ids do not count.
Digest step_key(const LogicalGraph& graph, std::size_t member);

/// Whether the trained parts know their nodes by the same ids.
bool same_ids(const LogicalGraph& graph, std::size_t a, std::size_t b);

/// What two trials differ in, found in dependency order.
struct Difference {
  std::size_t depth = 0;  ///< number of nodes that agree before it
  std::string text;       ///< "%3 linear(out=32) against %3 linear(out=64)"; empty: none
};
/// Why two members are not lanes of one program.
Difference step_difference(const LogicalGraph& graph, std::size_t a, std::size_t b);
/// Why two members do not read one stream of batches.
Difference stream_difference(const LogicalGraph& graph, std::size_t a, std::size_t b);
/// Where two members on one stream stop sharing their prefix, and why.
Difference prefix_difference(const LogicalGraph& graph, std::size_t a, std::size_t b);

}  // namespace lanista::fuse
