#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/mutate/mutator.h"
#include "lanista/model/mutate/model_view.h"

namespace lanista::mutate {

/// Channels are dimension 1 of images and the last one of everything else.
std::size_t channel_axis(const graph::Shape& shape);

/// One operation on the way from one shape to another. `num_zeros` > 0: a concat of the value with that many blocks of
/// zeros of its own shape.
struct RepairOp {
  std::string op;
  graph::Attrs attrs;
  int num_zeros = 0;
};

/// What turns a value of type `have` into one of type `want`, as the policy says; nothing if they are equal.
/// Errors: kNotApplicable with both shapes.
Result<std::vector<RepairOp>> plan_shape_repair(const graph::ValueType& have, const graph::ValueType& want,
                                    const RepairPolicy& policy);

/// Appends the pieces to `source` as nodes labelled as repairs; returns the fitted value.
graph::Port emit_shape_repair(graph::Editor& editor, graph::Port source, const std::vector<RepairOp>& plan);
/// The same through `add`, which makes a node and gives its id.
using AddNode = std::function<graph::NodeId(const std::string& op, std::vector<graph::Port> inputs, graph::Attrs)>;
graph::Port emit_shape_repair(const AddNode& add, graph::Port source, const std::vector<RepairOp>& plan);

/// The shape all inputs of a join should have: that of the first, on the smallest image where images are pooled (that
/// only shrinks); padding only grows, so there the widest input counts. `have` is not empty.
graph::ValueType common_type(std::span<const graph::ValueType> have, const RepairPolicy& policy);
/// What an input of type `have` should become: `common`, but along the axis of a concat its own.
graph::ValueType input_type(graph::ValueType common, const graph::ValueType& have, std::optional<std::size_t> axis);

/// repair_joins that also gives the types it found.
Result<graph::Types> repair_and_type(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy);

/// Ends a mutation: repairs joins, makes sure that the model still gives what it gave, and commits.
/// Errors: kNotApplicable with the reason.
Result<graph::Edited> finish_mutation(graph::Editor&& editor, const ModelView& before, const RepairPolicy& policy);

}  // namespace lanista::mutate
