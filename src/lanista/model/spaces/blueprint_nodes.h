#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/model/spaces/blueprint.h"
#include "lanista/model/mutate/shape_repair.h"

// Building a model whose ids are given: nodes are typed as they come, joins are repaired on the spot.
namespace lanista::mutate {

struct TypedPort {
  graph::Port port;
  graph::ValueType type;
};
/// A value for a join and its place among all that might be joined, which says what ids its repairs have.
struct JoinInput {
  TypedPort value;
  std::size_t place = 0;
};

/// The value as an attribute of the kind of `kind`. Errors: kNotApplicable.
Result<graph::AttrValue> as_attribute(const space::Value& value, const graph::AttrValue& kind, const std::string& name);

/// Replaces the padding "same" by numbers. Errors: kNotApplicable for an even window.
Result<void> resolve_same_padding(const graph::OpDef& def, graph::Attrs& attrs);

class TypedNodes {
 public:
  TypedNodes(const graph::OpTable& ops, const RepairPolicy& repair) : ops_(ops), repair_(repair) {}

  /// One node. Errors: kNotApplicable (attributes, shapes; too many nodes).
  Result<TypedPort> add(std::int64_t id, const std::string& op, const std::vector<TypedPort>& inputs, graph::Attrs attrs,
                    const std::string& label = {});
  /// One node; the inputs of an operator that joins are made to fit. Takes ids from `id` on, as join_ids says.
  Result<TypedPort> layer(std::int64_t id, const std::string& op, const std::vector<TypedPort>& inputs,
                      const graph::Attrs& attrs, const std::string& label);
  /// Several values as one; `places`: how many there might be.
  Result<TypedPort> join(std::int64_t id, Join how, const std::vector<JoinInput>& values, std::size_t places);
  /// What the output needs of all that was added. Errors: kNotApplicable if that does not verify.
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
