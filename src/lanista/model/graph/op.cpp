#include "lanista/model/graph/op.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "lanista/base/check.h"
#include "lanista/base/edit_distance.h"
#include "lanista/model/graph/size_limits.h"

namespace lanista::graph {
namespace {

bool is_identifier(std::string_view name) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), is_word);
}

const AttrSpec* find_spec(const OpDef& def, std::string_view name) {
  const auto at = std::find_if(def.attrs.begin(), def.attrs.end(), [&](const AttrSpec& s) { return s.name == name; });
  return at == def.attrs.end() ? nullptr : &*at;
}

const AttrValue& value_of(const OpArgs& args, std::string_view name) {
  if (const AttrValue* given = args.attrs.find(name)) return *given;
  const AttrSpec* spec = find_spec(args.def, name);
  LANISTA_CHECK(spec != nullptr, args.def.name + " has no attribute " + std::string(name));
  return spec->default_value;
}

template <class T>
const T& value_as(const OpArgs& args, std::string_view name) {
  const T* value = std::get_if<T>(&value_of(args, name));
  LANISTA_CHECK(value != nullptr, args.def.name + " reads attribute " + std::string(name) + " as another type");
  return *value;
}

std::string kind_text(const AttrSpec& spec) {
  const std::string range = "in [" + std::to_string(spec.min) + ", " + std::to_string(kMaxAttrInteger) + "]";
  switch (spec.default_value.index()) {
    case 0:
      return "true or false";
    case 1:
      return "an integer " + range;
    case 2:
      return "a number";
    case 3:
      break;
    default:
      return "a list of integers " + range;
  }
  if (spec.allowed.empty()) return "a string";
  std::string out = "one of";
  for (const std::string& word : spec.allowed) out += (out.size() > 6 ? ", " : " ") + in_quotes(word);
  return out;
}

bool fits(const AttrSpec& spec, const AttrValue& value) {
  const auto in_range = [&](std::int64_t v) { return v >= spec.min && v <= kMaxAttrInteger; };
  // Users write "p=0" for 0.0.
  if (std::holds_alternative<double>(spec.default_value)) {
    const double* real = std::get_if<double>(&value);
    return real != nullptr ? std::isfinite(*real) : std::holds_alternative<std::int64_t>(value);
  }
  if (value.index() != spec.default_value.index()) return false;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return in_range(*integer);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    return list->size() <= kMaxListLength && std::all_of(list->begin(), list->end(), in_range);
  }
  if (const auto* word = std::get_if<std::string>(&value)) {
    if (spec.allowed.empty()) return word->size() <= kMaxStringLength;
    return std::find(spec.allowed.begin(), spec.allowed.end(), *word) != spec.allowed.end();
  }
  return true;
}

std::string suggestion(const std::string& nearest) {
  return nearest.empty() ? std::string() : "; did you mean " + nearest + "?";
}

std::string unknown_attribute(const OpDef& def, const std::string& name) {
  std::vector<std::string> names;
  for (const AttrSpec& spec : def.attrs) {
    if (spec.role != AttrRole::kDerived) names.push_back(spec.name);
  }
  if (names.empty()) return "unknown attribute " + name + "; the operator has none";
  std::string out = "unknown attribute " + name + suggestion(nearest_name(name, names)) + " (known:";
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? " " : ", ") + names[i];
  return out + ")";
}

std::string arity_text(const OpDef& def) {
  if (def.max_inputs < 0) return "at least " + std::to_string(def.min_inputs);
  if (def.min_inputs == def.max_inputs) return std::to_string(def.min_inputs);
  return std::to_string(def.min_inputs) + " to " + std::to_string(def.max_inputs);
}

}  // namespace

std::int64_t OpArgs::integer(std::string_view name) const { return value_as<std::int64_t>(*this, name); }

double OpArgs::real(std::string_view name) const {
  const AttrValue& value = value_of(*this, name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return value_as<double>(*this, name);
}

bool OpArgs::flag(std::string_view name) const { return value_as<bool>(*this, name); }

const std::string& OpArgs::text(std::string_view name) const { return value_as<std::string>(*this, name); }

const std::vector<std::int64_t>& OpArgs::list(std::string_view name) const {
  return value_as<std::vector<std::int64_t>>(*this, name);
}

std::pair<std::int64_t, std::int64_t> OpArgs::pair(std::string_view name) const {
  const auto& values = list(name);
  LANISTA_CHECK(values.size() == 1 || values.size() == 2, def.name + " reads attribute " + std::string(name) + " of " +
                                                              std::to_string(values.size()) + " elements as a pair");
  return {values.front(), values.back()};
}

Result<void> OpTable::add(OpDef def) {
  const auto refuse = [&](const std::string& why) {
    return Error{Code::kInvalidArgument, "operator " + in_quotes(def.name) + ": " + why, ""};
  };
  if (!is_identifier(def.name)) return refuse("a name has letters, digits and underscores, and no digit in front");
  if (!def.infer) return refuse("there is no inference rule");
  if (def.min_inputs < 0 || (def.max_inputs >= 0 && def.max_inputs < def.min_inputs)) {
    return refuse("at least " + std::to_string(def.min_inputs) + " and at most " + std::to_string(def.max_inputs) +
                  " inputs contradict each other");
  }
  if (def.params && def.min_inputs != def.max_inputs) {
    return refuse("an operator with parameters must have a fixed number of inputs");
  }
  for (const AttrSpec& spec : def.attrs) {
    if (!is_identifier(spec.name)) return refuse("attribute name " + in_quotes(spec.name) + " is not a word");
    if (find_spec(def, spec.name) != &spec) return refuse("attribute " + spec.name + " is declared twice");
  }
  std::string name = def.name;
  if (defs_.contains(name)) return Error{Code::kAlreadyExists, "operator " + name + " is already in the table", ""};
  defs_.emplace(std::move(name), std::move(def));
  return {};
}

const OpDef* OpTable::find(std::string_view name) const {
  const auto at = defs_.find(name);
  return at == defs_.end() ? nullptr : &at->second;
}

std::string OpTable::nearest(std::string_view name) const { return nearest_name(name, names()); }

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> out;
  for (const auto& [name, def] : defs_) out.push_back(name);
  return out;
}

std::size_t num_data_inputs(const Node& node, const OpDef& def) {
  return def.params ? std::min(node.inputs.size(), static_cast<std::size_t>(def.min_inputs)) : node.inputs.size();
}

Result<void> check_node(const Node& node, const OpTable& ops) { return check_node(node, ops.find(node.op), ops); }

Result<void> check_node(const Node& node, const OpDef* def, const OpTable& ops) {
  const auto here = [&] { return "%" + std::to_string(node.id.value) + " " + node.op + ": "; };
  const auto refuse = [&](const std::string& why) { return Error{Code::kInvalidArgument, here() + why, ""}; };

  if (def == nullptr) return Error{Code::kNotFound, here() + "unknown operator" + suggestion(ops.nearest(node.op)), ""};

  const std::size_t data = num_data_inputs(node, *def);
  const bool too_many = def->max_inputs >= 0 && data > static_cast<std::size_t>(def->max_inputs);
  if (data < static_cast<std::size_t>(def->min_inputs) || too_many) {
    return refuse("has " + std::to_string(data) + " inputs, needs " + arity_text(*def));
  }
  for (const auto& [name, value] : node.attrs) {
    const AttrSpec* spec = find_spec(*def, name);
    if (spec == nullptr) return refuse(unknown_attribute(*def, name));
    if (spec->role == AttrRole::kDerived) return refuse("attribute " + name + " follows from the inputs; leave it out");
    if (!fits(*spec, value))
      return refuse("attribute " + name + "=" + attr_text(value) + " must be " + kind_text(*spec));
  }
  for (const AttrSpec& spec : def->attrs) {
    if (spec.required && node.attrs.find(spec.name) == nullptr) {
      return refuse("attribute " + spec.name + " is missing; it must be " + kind_text(spec));
    }
  }
  return {};
}

Port StepContext::input(std::size_t i) const {
  LANISTA_CHECK(i < node_.args.inputs.size(), node_.args.def.name + " has no input " + std::to_string(i));
  return node_.inputs[i];
}

Port StepContext::param(std::string_view name) const { return node_.inputs[param_input(name)]; }

std::size_t StepContext::param_input(std::string_view name) const {
  const auto found = std::ranges::find(node_.params, name, &ParamSpec::name);
  LANISTA_CHECK(found != node_.params.end(), node_.args.def.name + " has no parameter " + std::string(name));
  return node_.args.inputs.size() + static_cast<std::size_t>(found - node_.params.begin());
}

void GradientContext::set_input_grad(std::size_t i, Port gradient) {
  LANISTA_CHECK(i < args().inputs.size(), args().def.name + " has no input " + std::to_string(i));
  add_gradient(i, gradient);
}

void GradientContext::set_param_grad(std::string_view name, Port gradient) {
  const std::size_t i = param_input(name);
  LANISTA_CHECK(node().params[i - args().inputs.size()].trained, args().def.name + ": a buffer has no gradient");
  add_gradient(i, gradient);
}

}  // namespace lanista::graph
