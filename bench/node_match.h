#pragma once

#include <vector>

#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/lineage.h"
#include "lanista/model/graph/op.h"

// Common parts of two models, as the benchmark `lineage` measures them: by ids for related models, by hashes for
// others.
namespace lanista::bench {

/// Returns the ids of the nodes that two related models share, ascending by id.
///
/// A shared node has the same id and the same operation in both models, and reads the same outputs of shared nodes. So
/// the shared nodes are the longest common prefix, and both models compute the same values there. Labels do not count.
/// The models must come from one graph by edits; the function does not check that. O(nodes + edges). A cycle is a bug
/// of the caller. Source: Retiarii (OSDI'20).
std::vector<graph::NodeId> lineage_match(const graph::Graph& a, const graph::Graph& b, const graph::OpTable& ops);

/// Pairs the nodes of two models that compute the same value for the same input. The models need not be related.
///
/// Paired nodes have the same operation, and their inputs are paired with each other, in any order if the operator is
/// commutative. A node is in at most one pair. The result is in dependency order of `a`. Where several nodes compute
/// the same, the first ones are paired, so pairs may be missing there. No pair is wrong. O((nodes + edges) log nodes).
/// A cycle is a bug of the caller.
std::vector<graph::NodePair> structural_match(const graph::Graph& a, const graph::Graph& b, const graph::OpTable& ops);

}  // namespace lanista::bench
