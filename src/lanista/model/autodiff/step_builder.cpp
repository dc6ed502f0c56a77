#include "lanista/model/autodiff/step_builder.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {

using graph::Attrs;
using graph::NodeId;
using graph::Port;

namespace {

Attrs without_defaults(const OpDef& def, Attrs attrs) {
  for (const graph::AttrSpec& spec : def.attrs) {
    const graph::AttrValue* found = attrs.find(spec.name);
    if (!spec.required && found != nullptr && *found == spec.default_value) attrs.erase(spec.name);
  }
  return attrs;
}

}  // namespace

Port StepBuilder::emit(const std::string& op, std::vector<Port> inputs, Attrs attrs, std::optional<NodeId> origin) {
  if (failed()) return {};
  const OpDef* def = ops_.find(op);
  if (def == nullptr) {
    fail({Code::kNotFound, "the step needs operator " + op + ", which is not in the table", ""});
    return {};
  }
  const NodeId id = builder_.add(op, std::move(inputs), without_defaults(*def, std::move(attrs)));
  const graph::Node& node = graph().node(id);
  if (auto checked = graph::check_node(node, ops_); !checked) {
    fail(checked.error());
    return {};
  }
  const std::vector<graph::ValueType> input_types = types_.inputs(node);
  const auto data = std::span(input_types).first(graph::num_data_inputs(node, *def));
  auto outputs = def->infer(graph::OpArgs{data, node.attrs, *def});
  if (!outputs) {
    Error error = std::move(outputs).error();
    error.message = op + ": " + error.message;
    fail(std::move(error));
    return {};
  }
  types_.set(id, *std::move(outputs));
  if (origin) origin_.emplace(id, *origin);
  return Port{id, 0};
}

void StepBuilder::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<void> StepBuilder::status() const {
  if (error_) return *error_;
  return {};
}

void StepBuilder::remove_dead(const std::vector<Port>& roots) {
  std::set<NodeId> alive;
  for (const Port& root : roots) alive.insert(root.node);
  // A node's inputs have smaller ids than the node, so one pass from the end sees every user before its producer.
  const std::vector<NodeId> ids = graph().ids();
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    if (!alive.contains(*id)) continue;
    for (const Port& input : graph().node(*id).inputs) alive.insert(input.node);
  }
  for (const NodeId id : ids) {
    if (alive.contains(id) || ops_.find(graph().node(id).op)->role == graph::OpRole::kSource) continue;
    builder_.remove(id);
    origin_.erase(id);
  }
}

Result<StepBuilder::BuiltStep> StepBuilder::finish() && {
  LANISTA_TRY(status());
  auto types = graph::infer_shapes(graph(), ops_);
  if (!types) {
    Error error = std::move(types).error();
    error.message = "the derived step does not fit together: " + error.message;
    return error;
  }
  return BuiltStep{std::move(builder_).take(), *std::move(types), std::move(origin_)};
}

}  // namespace lanista::autodiff
