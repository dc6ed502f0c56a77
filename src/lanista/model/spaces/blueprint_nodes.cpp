#include "lanista/model/spaces/blueprint_nodes.h"

#include <algorithm>
#include <set>

#include "lanista/model/graph/size_limits.h"
#include "lanista/model/spaces/blueprint_plan.h"

namespace lanista::mutate {

using graph::AttrValue;
using graph::NodeId;
using graph::Port;
using graph::ValueType;
using List = std::vector<std::int64_t>;

Result<AttrValue> as_attribute(const space::Value& value, const AttrValue& kind, const std::string& name) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (whole != nullptr && std::holds_alternative<std::int64_t>(kind)) return AttrValue(*whole);
  if (whole != nullptr && std::holds_alternative<double>(kind)) return AttrValue(static_cast<double>(*whole));
  if (whole != nullptr && std::holds_alternative<List>(kind)) return AttrValue(List{*whole});
  if (real != nullptr && std::holds_alternative<double>(kind)) return AttrValue(*real);
  if (const auto* flag = std::get_if<bool>(&value); flag != nullptr && std::holds_alternative<bool>(kind)) {
    return AttrValue(*flag);
  }
  // "same" is a padding; resolve_same_padding checks it.
  if (const auto* text = std::get_if<std::string>(&value)) return AttrValue(*text);
  const bool needs_integer = std::holds_alternative<std::int64_t>(kind) || std::holds_alternative<List>(kind);
  return not_applicable("'" + name + "' would be " + space::value_text(value) +
                        (needs_integer ? "; it must be a whole number" : "; it is of another kind"));
}

Result<void> resolve_same_padding(const graph::OpDef& def, graph::Attrs& attrs) {
  const AttrValue* padding = attrs.find("padding");
  const auto* text = padding == nullptr ? nullptr : std::get_if<std::string>(padding);
  const auto spec = std::ranges::find(def.attrs, "padding", &graph::AttrSpec::name);
  if (text == nullptr || spec == def.attrs.end() || !std::holds_alternative<List>(spec->default_value)) return {};
  if (*text != "same") return not_applicable("padding '" + *text + "' is neither numbers nor same");
  const auto list = [&](const char* name) {
    const AttrValue* given = attrs.find(name);
    const auto at = std::ranges::find(def.attrs, name, &graph::AttrSpec::name);
    if (given == nullptr && at != def.attrs.end()) given = &at->default_value;
    const auto* numbers = given == nullptr ? nullptr : std::get_if<List>(given);
    return numbers == nullptr || numbers->empty() ? List{1} : *numbers;
  };
  const List kernel = list("kernel");
  const List dilation = list("dilation");
  List out;
  for (std::size_t i = 0; i < std::max(kernel.size(), dilation.size()); ++i) {
    const std::int64_t span = kernel[std::min(i, kernel.size() - 1)] - 1;
    const std::int64_t reach = dilation[std::min(i, dilation.size() - 1)];
    if (span < 0 || reach < 1 || span > graph::kMaxAttrInteger || reach > graph::kMaxAttrInteger) {
      return not_applicable("padding same: the window is out of bounds");
    }
    if (span * reach % 2 != 0) return not_applicable("padding same: an even window cannot keep the size");
    out.push_back(span * reach / 2);
  }
  attrs.set("padding", std::move(out));
  return {};
}

Result<TypedPort> TypedNodes::add(std::int64_t id, const std::string& op, const std::vector<TypedPort>& inputs,
                                  graph::Attrs attrs, const std::string& label) {
  if (nodes_.size() >= graph::kMaxTextNodes) {
    return not_applicable("the model would have more than " + std::to_string(graph::kMaxTextNodes) + " nodes");
  }
  graph::Node node{NodeId{static_cast<std::uint32_t>(id)}, op, {}, {}, label};
  for (auto& [name, value] : attrs) set_attr(node.attrs, ops_, op, name, value);
  std::vector<ValueType> types;
  for (const TypedPort& input : inputs) {
    node.inputs.push_back(input.port);
    types.push_back(input.type);
  }
  auto type = result_type(ops_, op, node.attrs, types);
  if (!type) return not_applicable(op + ": " + type.error().message);
  const bool is_new = nodes_.emplace(id, std::move(node)).second;
  LANISTA_CHECK(is_new, "node " + std::to_string(id) + " of a blueprint is made twice");
  if (op == "output") output_ = id;
  return TypedPort{{NodeId{static_cast<std::uint32_t>(id)}, 0}, *std::move(type)};
}

Result<std::vector<TypedPort>> TypedNodes::fitted(std::int64_t id, const std::vector<JoinInput>& values,
                                                  std::optional<std::size_t> concat_axis) {
  std::vector<ValueType> types;
  for (const JoinInput& joined : values) types.push_back(joined.value.type);
  const ValueType common = common_type(types, repair_);
  std::vector<TypedPort> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ValueType want = input_type(common, types[i], concat_axis);
    auto plan = plan_shape_repair(types[i], want, repair_);
    if (!plan) return not_applicable("input " + std::to_string(i) + ": " + plan.error().message);
    // Each operation of a repair uses one id, and padding a second one for its zeros.
    std::int64_t next = id + 3 * static_cast<std::int64_t>(values[i].place);
    std::optional<Error> failed;
    std::map<Port, TypedPort> made{{values[i].value.port, values[i].value}};
    const auto add_repair = [&](const std::string& op, const std::vector<Port>& inputs, graph::Attrs attrs) {
      std::vector<TypedPort> typed;
      for (const Port port : inputs) {
        if (const auto at = made.find(port); at != made.end()) typed.push_back(at->second);
      }
      auto node =
          failed ? Result<TypedPort>(*failed) : add(next, op, typed, std::move(attrs), std::string(kRepairLabel));
      if (!node) failed = node.error();
      if (node) made.emplace(node->port, *node);
      return NodeId{static_cast<std::uint32_t>(next++)};
    };
    const Port port = emit_shape_repair(add_repair, values[i].value.port, *plan);
    if (failed) return *failed;
    out.push_back(made.at(port));
  }
  return out;
}

Result<TypedPort> TypedNodes::layer(std::int64_t id, const std::string& op, const std::vector<TypedPort>& inputs,
                                    const graph::Attrs& attrs, const std::string& label) {
  if (inputs.size() < 2 || !is_join(ops_, op)) return add(id, op, inputs, attrs, label);
  std::vector<JoinInput> values;
  for (const TypedPort& input : inputs) values.push_back({input, values.size()});
  std::optional<std::size_t> axis;
  if (op == "concat") {
    const AttrValue* given = attrs.find("axis");
    const std::int64_t at = given == nullptr ? 1 : std::get<std::int64_t>(*given);
    axis = static_cast<std::size_t>(std::max<std::int64_t>(at, 0));
  }
  LANISTA_ASSIGN(const auto same, fitted(id, values, axis));
  return add(id + 3 * static_cast<std::int64_t>(inputs.size()), op, same, attrs, label);
}

Result<TypedPort> TypedNodes::join(std::int64_t id, Join how, const std::vector<JoinInput>& values,
                                   std::size_t places) {
  if (values.size() == 1) return values.front().value;
  if (values.size() > graph::kMaxTextInputs) {
    return not_applicable("a join of " + std::to_string(values.size()) + " values; there can be at most " +
                          std::to_string(graph::kMaxTextInputs));
  }
  const std::size_t axis = channel_axis(values.front().value.type.shape);
  const bool is_concat = how == Join::kConcat;
  LANISTA_ASSIGN(const auto same, fitted(id, values, is_concat ? std::optional(axis) : std::nullopt));
  const std::int64_t own = id + 3 * static_cast<std::int64_t>(places);
  switch (how) {
    case Join::kSum:
      return add(own, "add", same, {});
    case Join::kMul: {
      TypedPort product = same.front();
      for (std::size_t i = 1; i < same.size(); ++i) {
        const auto offset = static_cast<std::int64_t>(i) - 1;
        LANISTA_ASSIGN(product, add(own + offset, "mul", std::vector<TypedPort>{product, same[i]}, {}));
      }
      return product;
    }
    case Join::kConcat:
      return add(own, "concat", same, {{"axis", static_cast<std::int64_t>(axis)}});
    case Join::kMean:
      break;
  }
  return mean(own, same);
}

/// Adds the mean: the values are concatenated on a new axis, and the axis is averaged.
Result<TypedPort> TypedNodes::mean(std::int64_t id, const std::vector<TypedPort>& values) {
  List shape = values.front().type.shape.dims;
  shape.front() = 1;  // instead of the batch, which reshape leaves out
  std::vector<TypedPort> side_by_side;
  for (const TypedPort& value : values) {
    LANISTA_ASSIGN(side_by_side.emplace_back(), add(id++, "reshape", {value}, {{"shape", shape}}));
  }
  LANISTA_ASSIGN(const TypedPort all, add(id++, "concat", side_by_side, {}));
  return add(id, "mean", {all}, {{"axes", List{1}}});
}

Result<graph::Graph> TypedNodes::finish() const {
  std::set<std::int64_t> needed{output_};
  std::vector<std::int64_t> open{output_};
  while (!open.empty()) {
    const std::int64_t id = open.back();
    open.pop_back();
    for (const Port& port : nodes_.at(id).inputs) {
      if (needed.insert(port.node.value).second) open.push_back(port.node.value);
    }
  }
  graph::GraphBuilder builder;
  for (const std::int64_t id : needed) builder.put(nodes_.at(id));
  if (auto verified = graph::verify(builder.peek(), ops_); !verified) return not_applicable(verified.error().message);
  return std::move(builder).take();
}

}  // namespace lanista::mutate
