#pragma once

#include <cstddef>
#include <string>

#include "lanista/base/digest.h"
#include "lanista/plan/sharing/logical_graph.h"

// When two trials may be lanes of one program, and how they differ otherwise.
namespace lanista::sharing {

/// Returns a key that is equal for members with steps that can be lanes of one program. `member` is an index in
/// LogicalGraph::members.
///
/// The trained parts have the same operations with the same wiring in the same order, which decides the summation
/// order. Their sources have equal types. Loss, optimiser, batch size, precision and frozen nodes are equal. Node ids,
/// weights, attributes of lanes (such as a dropout probability), random masks and data may differ, so results do too.
Digest step_key(const LogicalGraph& graph, std::size_t member);

/// Returns true if the trained parts (LogicalGraph::trained_part) of two members have the same node ids in the same
/// order, so that parameter names and random masks need no translation. Members are given by index.
bool same_ids(const LogicalGraph& graph, std::size_t a, std::size_t b);

/// The first difference between two trials in dependency order.
struct Difference {
  std::size_t depth = 0;  ///< Number of trained nodes, or data steps, that agree before it.
  std::string text;       ///< "%3 linear(out=32) against %3 linear(out=64)"; empty if there is no difference.
};
/// Returns the first reason why two members are not lanes of one program; an empty text if they are.
Difference step_difference(const LogicalGraph& graph, std::size_t a, std::size_t b);
/// Returns the first reason why two members do not read the same batches; an empty text if they do.
Difference stream_difference(const LogicalGraph& graph, std::size_t a, std::size_t b);

}  // namespace lanista::sharing
