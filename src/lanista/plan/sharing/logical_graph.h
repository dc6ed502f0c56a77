#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/cost.h"
#include "lanista/plan/sharing/fusion_member.h"

namespace lanista::fuse {

/// One output of a logical node.
struct OutputRef {
  std::size_t node = 0;
  std::uint32_t slot = 0;
  auto operator<=>(const OutputRef&) const = default;
};

/// Whose node it is: a member (its number in LogicalGraph::members), and the node of its model; no node for the
/// links of its input pipeline.
struct Owner {
  std::size_t member = 0;
  std::optional<graph::NodeId> node;
  auto operator<=>(const Owner&) const = default;
};

/// A computation of one or several members.
struct LogicalNode {
  OperatorWork work;                       ///< operator, attributes, input types, cost; the first owner's
  std::vector<OutputRef> inputs;           ///< data inputs
  std::vector<std::int64_t> output_bytes;  ///< of the whole batch, a number for each output
  std::vector<Owner> owners;               ///< in order of member, each once; several: computed once for all of them
  std::int64_t weight_bytes = 0;           ///< parameters and buffers

  /// Merkle key of the value: operation, weights, random stream, precision and, through its inputs, samples and order.
  /// Trained weights and masks belong to a trial, so nothing at or below them is equal in two trials.
  Digest value;
  /// The same without order and batch: equal where a sample gives the same value. Tells cached values apart.
  Digest sample_value;
  /// Equal where one operator with lanes can serve: operation, input types, batch, precision, training or inference.
  Digest alike;
  /// For dense operators (weights are rows, one for each output feature): as `alike`, whatever the number of outputs.
  std::optional<Digest> dense;

  bool data = false;    ///< run by room `data`
  bool frozen = false;  ///< inference form
  /// No trained weights and no trial's randomness in it or above it: the value does not depend on the trial.
  bool prefix = false;
  bool deterministic = false;  ///< prefix, and no augmentation in it or above it: worth caching by sample
};

/// The disjoint union of the members' input pipelines and models. What is merged has several owners.
struct LogicalGraph {
  std::vector<FusionMember> members;
  std::vector<LogicalNode> nodes;                         ///< in dependency order
  std::vector<std::vector<std::size_t>> nodes_of_member;  ///< each member's nodes, in its own dependency order
  std::vector<Digest> stream;  ///< of each member: equal where the same batches come in the same order

  /// What a member does outside the prefix: what it trains, in its dependency order.
  std::vector<std::size_t> trained_part(std::size_t member) const;
};

/// Puts members side by side; nothing is merged yet. Every model is verified and its shapes are inferred.
/// Errors: verify's, with the trial in `where`; kInvalidArgument for no members or more than 4096, a trial that comes
/// twice, a frozen node that is not there, numbers of a recipe out of range.
Result<LogicalGraph> unite(std::vector<FusionMember> members, const graph::OpTable& ops);

/// Merges nodes that compute the same value: equal keys, so all five rules of sharing hold (no trained weights; all
/// above is shared; randomness of the stream only; lock step; one precision). Returns how many nodes were saved.
std::size_t merge_equal(LogicalGraph& graph);

/// "read", or "%3 linear(out=64)"
std::string node_text(const LogicalNode& node);

}  // namespace lanista::fuse
