#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/model/mutate/shape_repair.h"
#include "lanista/model/spaces/blueprint.h"

// Builds the model of a blueprint from nodes with given ids.
namespace lanista::mutate {

/// A value of a graph with its type.
struct TypedPort {
  graph::Port port;       ///< output of a node
  graph::ValueType type;  ///< type of the value
};
/// A value that a join reads.
struct JoinInput {
  TypedPort value;        ///< the value
  std::size_t place = 0;  ///< index among all possible inputs of the join; it fixes the ids of repairs
};

/// Converts a value of a choice to an attribute with the type of `kind`. A text stays a text for every `kind`, because
/// it may be the padding "same"; the caller checks it. `name` is the attribute, for messages. Errors: kNotApplicable if
/// another value has no such form.
Result<graph::AttrValue> as_attribute(const space::Value& value, const graph::AttrValue& kind, const std::string& name);

/// Replaces the padding "same" in `attrs` by numbers. Paddings that are numbers stay. Nothing changes for an operator
/// without a list `padding`. Errors: kNotApplicable for another text, for (kernel - 1) times dilation that is odd, or
/// for a window out of bounds.
Result<void> resolve_same_padding(const graph::OpDef& def, graph::Attrs& attrs);

/// Builds a graph from nodes with given ids. When a node is added, its type is inferred and joins are repaired.
class TypedNodes {
 public:
  /// Starts with an empty graph. Types come from `ops`, which must live as long; `repair` defines how joins are
  /// repaired.
  TypedNodes(const graph::OpTable& ops, const RepairPolicy& repair) : ops_(ops), repair_(repair) {}

  /// Adds one node and returns its output 0. The operator "output" makes it the output of the graph. An `id` that is in
  /// use is a bug of the caller. Errors: kNotApplicable for attributes or shapes that do not fit, or too many nodes.
  Result<TypedPort> add(std::int64_t id, const std::string& op, const std::vector<TypedPort>& inputs,
                        graph::Attrs attrs, const std::string& label = {});
  /// Adds one node and, if it is a join of several inputs, first the repairs of its inputs. Returns output 0. It uses
  /// one id, or up to join_ids(inputs.size()) ids, from `id`. Errors: kNotApplicable for attributes or shapes that do
  /// not fit, or too many nodes.
  Result<TypedPort> layer(std::int64_t id, const std::string& op, const std::vector<TypedPort>& inputs,
                          const graph::Attrs& attrs, const std::string& label);
  /// Joins one or more values and returns the result. A single value is returned without a node. `places` is the number
  /// of possible inputs, which fixes the ids after the repairs. Errors: kNotApplicable for shapes that do not fit, too
  /// many values, or too many nodes.
  Result<TypedPort> join(std::int64_t id, Join how, const std::vector<JoinInput>& values, std::size_t places);
  /// Returns the graph of the nodes on which the output depends. A node "output" must have been added. Errors:
  /// kNotApplicable if `graph::verify` refuses the graph.
  Result<graph::Graph> finish() const;

 private:
  Result<std::vector<TypedPort>> fitted(std::int64_t id, const std::vector<JoinInput>& values,
                                        std::optional<std::size_t> concat_axis);
  Result<TypedPort> mean(std::int64_t id, const std::vector<TypedPort>& values);

  const graph::OpTable& ops_;
  RepairPolicy repair_;
  std::map<std::int64_t, graph::Node> nodes_;
  std::int64_t output_ = 0;
};

}  // namespace lanista::mutate
