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

/// The channel dimension of a shape: 1 for images, otherwise the last one.
std::size_t channel_axis(const graph::Shape& shape);

/// One operation of a shape repair.
struct RepairOp {
  std::string op;      ///< name of the operator
  graph::Attrs attrs;  ///< its attributes
  int num_zeros = 0;   ///< above 0: a concat of the value with that many blocks of zeros of its shape
};

/// Plans the operations that turn a value of type `have` into one of type `want`. Empty if the types are equal.
/// Errors: kNotApplicable with both shapes.
Result<std::vector<RepairOp>> plan_shape_repair(const graph::ValueType& have, const graph::ValueType& want,
                                                const RepairPolicy& policy);

/// Adds the operations of a repair after `source`, as nodes with the repair label. Returns the repaired value.
graph::Port emit_shape_repair(graph::Editor& editor, graph::Port source, const std::vector<RepairOp>& plan);
/// A function that adds a node and returns its id.
using AddNode = std::function<graph::NodeId(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs)>;
/// Adds the operations of a repair after `source` through `add`. Returns the repaired value.
graph::Port emit_shape_repair(const AddNode& add, graph::Port source, const std::vector<RepairOp>& plan);

/// The type that all inputs of a join should have. `have` is not empty.
///
/// It is the type of the first input, with two exceptions. Unless images are interpolated, height and width are the
/// smallest of all inputs. With zero padding, the number of channels is the largest.
graph::ValueType common_type(std::span<const graph::ValueType> have, const RepairPolicy& policy);
/// The type that one input of a join should have: `common`, except that it keeps its size along `axis` of a concat.
graph::ValueType input_type(graph::ValueType common, const graph::ValueType& have, std::optional<std::size_t> axis);

/// Repairs joins as `repair_joins` does, and returns the types of the result.
Result<graph::Types> repair_and_type(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy);

/// Completes a mutation: repairs joins, checks that the output type is that of `before`, and commits the edits.
/// Errors: kNotApplicable with the reason.
Result<graph::Edited> finish_mutation(graph::Editor&& editor, const ModelView& before, const RepairPolicy& policy);

}  // namespace lanista::mutate
