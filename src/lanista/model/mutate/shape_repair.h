#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/mutate/model_view.h"
#include "lanista/model/mutate/mutator.h"

namespace lanista::mutate {

/// The index of the channel dimension of a shape: 1 for images (rank 4), otherwise the last one.
std::size_t channel_axis(const graph::Shape& shape);

/// One operation of a shape repair, with one or more new nodes.
struct RepairOp {
  std::string op;      ///< name of the operator
  graph::Attrs attrs;  ///< its attributes
  int num_zeros = 0;   ///< for concat: number of zero tensors of the value's shape to append
};

/// Plans the operations that turn a value of type `have` into one of type `want`, in order. Empty if the types are
/// equal. Errors: kNotApplicable with both shapes, if `policy` rejects the repair or no repair exists.
Result<std::vector<RepairOp>> plan_shape_repair(const graph::ValueType& have, const graph::ValueType& want,
                                                const RepairPolicy& policy);

/// Adds the operations of a repair after `source`, as nodes with the label kRepairLabel. Returns the repaired value;
/// `source` if `plan` is empty.
graph::Port emit_shape_repair(graph::Editor& editor, graph::Port source, const std::vector<RepairOp>& plan);
/// A function that adds a node with this operator, these inputs and attributes, and returns its id.
using AddNode = std::function<graph::NodeId(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs)>;
/// Adds the operations of a repair after `source` through `add`. Returns the repaired value; `source` if
/// `plan` is empty.
graph::Port emit_shape_repair(const AddNode& add, graph::Port source, const std::vector<RepairOp>& plan);

/// The type to which all inputs of a join are repaired. `have` has the type of each input, at least one.
///
/// It is the type of the first input, with two exceptions. Unless the policy is to interpolate, height and width are
/// the smallest of all inputs. If the policy is to pad channels with zeros, the number of channels is the largest.
/// Inputs of another rank than the first do not count.
graph::ValueType common_type(std::span<const graph::ValueType> have, const RepairPolicy& policy);
/// The type to which one input of type `have` is repaired: `common`, but with its own size along `axis`, the axis of a
/// concat; none for other joins.
graph::ValueType input_type(graph::ValueType common, const graph::ValueType& have, std::optional<std::size_t> axis);

/// Makes the inputs of every join of a graph fit each other, in dependency order of the joins. Returns the types of the
/// repaired graph.
///
/// Before an input that does not fit, it inserts the nodes that `policy` specifies, or changes the width of the
/// projection that an earlier repair inserted there. Joins that fit stay as they are.
/// Errors: kNotApplicable for a repair that `policy` rejects or that does not exist, with both shapes, and for a
/// missing node, a cycle, or shapes that do not fit; as in `graph::check_node` (kNotFound, kInvalidArgument).
Result<graph::Types> repair_and_type(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy);

/// Ends a mutation: repairs joins, checks that the type of the output is that of `before`, and commits the edits.
/// Errors: kNotApplicable with the reason, if a repair, this check or `graph::verify` fails; as in `graph::check_node`
/// (kNotFound, kInvalidArgument) for an invalid node.
Result<graph::Edited> finish_mutation(graph::Editor&& editor, const ModelView& before, const RepairPolicy& policy);

}  // namespace lanista::mutate
