#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/cost.h"
#include "lanista/plan/sharing/fusion_member.h"

namespace lanista::sharing {

/// One output of a logical node.
struct OutputRef {
  std::size_t node = 0;    ///< Index in LogicalGraph::nodes.
  std::uint32_t slot = 0;  ///< Index of the output, from 0.
  auto operator<=>(const OutputRef&) const = default;
};

/// A trial that needs the value of a logical node.
struct Owner {
  std::size_t member = 0;             ///< Index in LogicalGraph::members.
  std::optional<graph::NodeId> node;  ///< Node of the member's model; empty for a step of its input pipeline.
  auto operator<=>(const Owner&) const = default;
};

/// A computation of one or several members of a fusion plan. A member is one trial.
struct LogicalNode {
  OperatorWork work;                       ///< Operator, attributes, input types and cost of the first owner.
  std::vector<OutputRef> inputs;           ///< Outputs of other nodes that it reads, in order.
  std::vector<std::int64_t> output_bytes;  ///< Bytes of each output, for the whole batch.
  std::vector<Owner> owners;               ///< In order of members; a node with several is computed once for all.
  std::int64_t weight_bytes = 0;           ///< Bytes of parameters and buffers.

  /// Key of the value: operation, weights, random stream, precision and, by its inputs, the samples and their order.
  ///
  /// Trained weights and random masks belong to one trial, so two trials never have equal values at or below them.
  Digest value;
  /// Key of the operator: operation, input types, batch, precision, and training or inference form.
  ///
  /// Attributes that each lane sets for itself do not count. Nodes with equal keys can be lanes of one operator.
  Digest alike;

  bool data = false;    ///< True: a step of an input pipeline.
  bool frozen = false;  ///< True: it is frozen and has weights or random masks, so it runs in inference form.
  /// True: neither the node nor any node above it has trained weights or random masks. Its value is the same in every
  /// trial.
  bool prefix = false;
  /// Bytes of an output row of a trained linear layer that reads a prefix; 0 for other nodes. Lanes with one batch
  /// compute a narrow one as one product (autodiff::is_joint_row), unless another trained node reads a prefix too.
  std::int64_t joint_row_bytes = 0;
};

/// All models and input pipelines of a batch of trials in one graph. A merged node has several owners.
struct LogicalGraph {
  std::vector<FusionMember> members;                      ///< The trials; a member is named by its index here.
  std::vector<LogicalNode> nodes;                         ///< In dependency order.
  std::vector<std::vector<std::size_t>> nodes_of_member;  ///< Indices of each member's nodes, in dependency order.
  std::vector<Digest> stream;  ///< Key of each member's batches; equal for the same batches in the same order.

  /// Returns the indices in `nodes` of a member's nodes outside the prefix, in its dependency order. These have trained
  /// weights or random masks, or depend on such nodes; some may be frozen. The data step is in the prefix.
  std::vector<std::size_t> trained_part(std::size_t member) const;
};

/// Returns the graph of all members, with nothing merged. Every model is verified and its shapes are inferred.
///
/// Errors: those of graph::verify (kNotFound, kInvalidArgument), with the trial in `where`. Also kInvalidArgument for
/// no members or more than 4096, for a trial that is listed twice, for a frozen node that does not exist, and for
/// numbers out of range.
Result<LogicalGraph> unite(std::vector<FusionMember> members, const graph::OpTable& ops);

/// Merges the prefix nodes of different members that have the same `value`. Returns the number of nodes saved.
///
/// Equal keys guarantee equal values: there are no trained weights, all inputs are shared, random numbers come from
/// the data stream only, and the members are at the same local step in the same precision.
std::size_t merge_equal(LogicalGraph& graph);

/// Returns the text of a node for people: of a data node the text of its step, such as "samples" or "flip(p=0.5)";
/// else the node of the first owner, such as "%3 linear(out=64)".
std::string node_text(const LogicalNode& node);

}  // namespace lanista::sharing
