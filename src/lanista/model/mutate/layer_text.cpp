#include "lanista/model/mutate/layer_text.h"

#include <algorithm>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/text_cursor.h"
#include "lanista/model/graph/text_reader.h"

namespace lanista::mutate {

using graph::Attrs;
using graph::Node;
using graph::ValueType;

namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxChain = 16;

Error invalid(std::string_view text, const std::string& message) {
  return Error{Code::kInvalidArgument, "in the layer \"" + std::string(text.substr(0, 256)) + "\": " + message, ""};
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Replaces each $NODE.ATTRIBUTE by `value_of(node name, attribute)`.
template <class ValueOf>
Result<std::string> filled_in(std::string_view text, ValueOf value_of) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    const auto word_from = [&](std::size_t begin) {
      std::size_t end = begin;
      while (end < text.size() && is_name_letter(text[end])) ++end;
      return text.substr(begin, end - begin);
    };
    const std::string_view name = word_from(at + 1);
    const std::size_t dot = at + 1 + name.size();
    const std::string_view attr = dot < text.size() && text[dot] == '.' ? word_from(dot + 1) : std::string_view();
    if (name.empty() || attr.empty()) return invalid(text, "expected $NAME.ATTRIBUTE behind $");
    LANISTA_ASSIGN(const std::string value, value_of(name, attr));
    out += value;
    at = dot + 1 + attr.size();
  }
  return out;
}

/// Reads "relu" or "conv2d(out=16)" with the reader of the text form.
Result<Replacement> read_layer(std::string_view text) {
  const bool has_attrs = text.find('(') != std::string_view::npos;
  const std::string line = "%0 = " + std::string(text) + (has_attrs ? "" : "()");
  graph::LineReader reader(line, 1);
  auto node = reader.node();
  if (!node) return invalid(text, node.error().message);
  if (!node->inputs.empty() || !node->label.empty()) return invalid(text, "a layer here has attributes only");
  return Replacement{std::move(node->op), std::move(node->attrs)};
}

/// Checks that an operator accepts one input.
Result<void> check_arity(std::string_view text, const std::string& op, const graph::OpTable& ops) {
  const graph::OpDef* def = ops.find(op);
  if (def == nullptr) return {};  // check_node reports it, with the nearest name
  if (op != "output" && def->min_inputs <= 1 && def->max_inputs != 0) return {};
  return invalid(text, op + " is no layer with one input");
}

/// Checks the operator, its attributes and their values.
Result<void> check_layer(std::string_view text, const Replacement& layer, const graph::OpTable& ops) {
  const auto checked = graph::check_node(Node{{}, layer.op, layer.attrs, {graph::Port{}}, ""}, ops);
  if (checked) return {};
  // Removes the node number, because there is no node.
  const std::string& message = checked.error().message;
  return Error{checked.error().code, invalid(text, message.substr(message.find(' ') + 1)).message, ""};
}

}  // namespace

Result<LayerText> LayerText::parse(std::string_view text, const std::vector<std::string>& captures) {
  LayerText layer;
  layer.text_ = trim(text, " ");
  if (layer.text_.empty()) return invalid(text, "a layer is missing");
  if (layer.text_.size() > kMaxText) return invalid(text, "is longer than 4096 bytes");
  layer.is_word_ = std::all_of(layer.text_.begin(), layer.text_.end(), is_name_letter);
  const auto ops = graph::builtin_ops();
  if (layer.is_word_) {
    auto known = family_words();
    if (has(known, layer.text_)) return layer;
    for (std::string& name : ops.names()) known.push_back(std::move(name));
    if (!has(known, layer.text_)) {
      const std::string near = nearest_name(layer.text_, known);
      return invalid(text,
                     "unknown layer '" + layer.text_ + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    LANISTA_TRY(check_arity(text, layer.text_, ops));
    return layer;
  }
  const auto one = [&](std::string_view name, std::string_view) -> Result<std::string> {
    if (has(captures, name)) return std::string("1");
    const std::string near = nearest_name(name, captures);
    return invalid(text, "the pattern names no node '" + std::string(name) + "'" +
                             (near.empty() ? "" : "; did you mean '" + near + "'?"));
  };
  LANISTA_ASSIGN(const std::string sample, filled_in(layer.text_, one));
  LANISTA_ASSIGN(const Replacement read, read_layer(sample));
  LANISTA_TRY(check_arity(text, read.op, ops));
  // With values that only a match knows, attributes are checked when they are there.
  if (sample == layer.text_) LANISTA_TRY(check_layer(text, read, ops));
  return layer;
}

Result<std::vector<LayerText>> LayerText::parse_chain(std::string_view text, const std::vector<std::string>& captures) {
  std::vector<LayerText> layers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(">>", begin), text.size());
    if (layers.size() == kMaxChain) return invalid(text, "a chain has at most 16 layers");
    LANISTA_ASSIGN(auto layer, parse(text.substr(begin, end - begin), captures));
    layers.push_back(std::move(layer));
    begin = end + 2;
  }
  return layers;
}

Result<Replacement> LayerText::written(const ModelView& view, const Match* match) const {
  const auto value_of = [&](std::string_view name, std::string_view attr) -> Result<std::string> {
    LANISTA_CHECK(match != nullptr, "a layer with $ needs a match");
    const Node& node = view.graph().node((*match)[name]);
    const graph::OpDef& def = *view.ops().find(node.op);
    const auto spec = std::find_if(def.attrs.begin(), def.attrs.end(), [&](const auto& s) { return s.name == attr; });
    if (spec == def.attrs.end()) return not_applicable(site_name(node) + " has no attribute " + std::string(attr));
    const graph::AttrValue* given = node.attrs.find(attr);
    return graph::attr_text(given != nullptr ? *given : spec->default_value);
  };
  LANISTA_ASSIGN(const std::string text, filled_in(text_, value_of));
  LANISTA_ASSIGN(Replacement layer, read_layer(text));
  // As in all stored models, an attribute at its default is left out.
  const graph::OpDef* def = view.ops().find(layer.op);
  const graph::Attrs given = std::exchange(layer.attrs, {});
  for (const auto& [name, value] : given) {
    const bool is_default =
        def != nullptr &&
        std::any_of(def->attrs.begin(), def->attrs.end(), [&, &wanted = name, &have = value](const auto& spec) {
          return spec.name == wanted && !spec.required && spec.default_value == have;
        });
    if (!is_default) layer.attrs.set(name, value);
  }
  return layer;
}

Result<Replacement> LayerText::on(const ModelView& view, const ValueType& input, const Match* match) const {
  if (is_word_ && has(conv_words(), text_)) {
    if (auto conv = same_conv(view.ops(), input, text_)) return *std::move(conv);
    return not_applicable(text_ + " needs images, not " + input.shape.text());
  }
  LANISTA_ASSIGN(Replacement layer, written(view, match));
  if (is_word_ && layer.op == "linear") layer.attrs.set("out", input.shape.dims.back());
  const auto type = result_type(view.ops(), layer.op, layer.attrs, {&input, 1});
  if (!type) return not_applicable(text_ + ": " + type.error().message);
  return layer;
}

Result<Replacement> LayerText::in_place_of(const ModelView& view, const Node& node) const {
  if (is_word_) {
    if (auto made = rewrite(view, node, text_)) return *std::move(made);
  }
  LANISTA_ASSIGN(Replacement layer, written(view, nullptr));
  if (is_word_) {
    const graph::OpDef* def = view.ops().find(layer.op);
    if (def == nullptr) return not_applicable(text_ + " cannot replace " + site_name(node));
    for (const auto& [name, value] : node.attrs) {
      const auto spec = std::find_if(def->attrs.begin(), def->attrs.end(),
                                     [&, &wanted = name](const auto& s) { return s.name == wanted; });
      if (spec != def->attrs.end()) layer.attrs.set(name, value);
    }
  }
  const auto inputs = view.inputs(node);
  const auto type = result_type(view.ops(), layer.op, layer.attrs, inputs);
  if (!type) return not_applicable(text_ + ": " + type.error().message);
  return layer;
}

}  // namespace lanista::mutate
