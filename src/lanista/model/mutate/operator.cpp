// Mutator "operator": changes the operator or the attributes of nodes that match a pattern.
#include <algorithm>

#include "lanista/base/edit_distance.h"
#include "lanista/base/option_specs.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/layer_text.h"
#include "lanista/model/mutate/pattern_option.h"
#include "lanista/model/mutate/site_change.h"

namespace lanista::mutate {

using graph::AttrValue;
using graph::Node;
using graph::NodeId;
using List = std::vector<std::int64_t>;

namespace {

constexpr std::size_t kMaxVariants = 1024;

/// An attribute and its possible values, as JSON.
struct Setting {
  std::string name;
  std::vector<nlohmann::json> values;
};

Error bad_set(const std::string& message) { return Error{Code::kInvalidArgument, message, "set"}; }

/// Converts a value to an attribute of this kind, or returns no value. A number may replace a list of one.
std::optional<AttrValue> typed(const nlohmann::json& value, const AttrValue& kind) {
  const auto whole = [](const nlohmann::json& v) { return v.is_number_integer(); };
  if (std::holds_alternative<bool>(kind) && value.is_boolean()) return value.get<bool>();
  if (std::holds_alternative<std::int64_t>(kind) && whole(value)) return value.get<std::int64_t>();
  if (std::holds_alternative<double>(kind) && value.is_number()) return value.get<double>();
  if (std::holds_alternative<std::string>(kind) && value.is_string()) return value.get<std::string>();
  if (!std::holds_alternative<List>(kind)) return std::nullopt;
  if (whole(value)) return List{value.get<std::int64_t>()};
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), whole)) return std::nullopt;
  return value.get<List>();
}

/// Returns the padding that keeps the size at stride 1, or no value for operators without windows.
std::optional<AttrValue> same_padding(const Replacement& layer, const graph::OpDef& def) {
  const graph::OpArgs args{{}, layer.attrs, def};
  // Windows over sequences have integers under the same names.
  const auto has = [&](std::string_view name) {
    return std::any_of(def.attrs.begin(), def.attrs.end(), [&](const auto& spec) {
      return spec.name == name && std::holds_alternative<std::vector<std::int64_t>>(spec.default_value);
    });
  };
  if (!has("kernel") || !has("dilation") || !has("padding")) return std::nullopt;
  const auto [kh, kw] = args.pair("kernel");
  const auto [dh, dw] = args.pair("dilation");
  const std::int64_t h = dh * (kh - 1);
  const std::int64_t w = dw * (kw - 1);
  if (h % 2 == 0 && h == w) return List{h / 2};
  if (h % 2 == 0 && w % 2 == 0) return List{h / 2, w / 2};
  return List{h / 2, h - h / 2, w / 2, w - w / 2};
}

class Operator final : public ViewMutator {
 public:
  Operator(PatternOption match, std::vector<LayerText> to, std::vector<Setting> set)
      : ViewMutator("operator"), match_(std::move(match)), to_(std::move(to)), set_(std::move(set)) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    const graph::Graph& base = view.graph();
    std::vector<NodeId> nodes;
    for (const Match& match : match_.pattern.find(view)) {
      const Node& node = base.node(match.nodes.front());
      if (!node.is_input() && !node.is_output()) nodes.push_back(node.id);
    }

    std::vector<Site> offers;
    SiteLog log;
    for (Site& site : tied_sites(base, nodes)) {
      std::string why = "there is no other variant";
      if (any_can_apply(changes(view, site, repair), why)) {
        offers.push_back(std::move(site));
      } else {
        log.reject(base.node(site.front()), why);
      }
    }
    if (offers.empty()) return log.error(name(), match_.what("node"));
    return choose.one_of("to", applicable_changes(changes(view, choose.one_of("site", offers), repair))).make();
  }

 private:
  std::size_t num_variants() const {
    std::size_t count = std::max<std::size_t>(to_.size(), 1);
    for (const Setting& setting : set_) count *= setting.values.size();
    return count;
  }

  std::vector<Result<SiteChange>> changes(const ModelView& view, const Site& site, const RepairPolicy& repair) const {
    std::vector<Result<SiteChange>> all;
    for (std::size_t i = 0; i < num_variants(); ++i) all.push_back(variant(view, site, i, repair));
    return all;
  }

  /// Makes variant `index` at the site. Errors: kNotApplicable, also if the model would not change.
  Result<SiteChange> variant(const ModelView& view, const Site& site, std::size_t index,
                             const RepairPolicy& repair) const {
    std::vector<std::pair<NodeId, Replacement>> made;
    bool keeps_types = view.reads_first_outputs();
    for (const NodeId id : site) {
      const Node& node = view.graph().node(id);
      LANISTA_ASSIGN(Replacement one, replacement(view, node, index));
      if (one.op == node.op && one.attrs == node.attrs) continue;
      const auto type = result_type(view.ops(), one.op, one.attrs, view.inputs(node));
      keeps_types = keeps_types && type && *type == view.type(id);
      made.emplace_back(id, std::move(one));
    }
    if (made.empty()) return not_applicable("there is no other variant");
    return SiteChange{[&view, &repair, made = std::move(made)] {
                        graph::Editor editor(view.graph(), view.ops());
                        for (const auto& [id, one] : made) editor.replace(id, one.op, one.attrs);
                        return finish_mutation(std::move(editor), view, repair);
                      },
                      keeps_types};
  }

  Result<Replacement> replacement(const ModelView& view, const Node& node, std::size_t index) const {
    Replacement made{node.op, node.attrs};
    if (!to_.empty()) {
      LANISTA_ASSIGN(made, to_[index % to_.size()].in_place_of(view, node));
      index /= to_.size();
    }
    const graph::OpDef& def = *view.ops().find(made.op);
    bool is_same = false;
    bool sets_padding = false;
    for (const Setting& setting : set_) {
      const auto& value = setting.values[index % setting.values.size()];
      index /= setting.values.size();
      sets_padding = sets_padding || setting.name == "padding";
      if (setting.name == "padding" && value == "same") {
        is_same = true;
        continue;
      }
      const auto spec =
          std::find_if(def.attrs.begin(), def.attrs.end(), [&](const auto& s) { return s.name == setting.name; });
      if (spec == def.attrs.end()) return not_applicable(made.op + " has no attribute " + setting.name);
      auto given = typed(value, spec->default_value);
      if (!given) return not_applicable(made.op + " takes no " + setting.name + " of this kind");
      set_attr(made.attrs, view.ops(), made.op, setting.name, *std::move(given));
    }
    // A window that kept the size still keeps it.
    const bool follows = !sets_padding && (attr("padding") == "same").matches(view, node);
    if (is_same || follows) {
      if (auto padding = same_padding(made, def)) {
        set_attr(made.attrs, view.ops(), made.op, "padding", *std::move(padding));
      } else if (is_same) {
        return not_applicable(made.op + " has no padding that keeps the size");
      }
    }
    return made;
  }

  PatternOption match_;
  std::vector<LayerText> to_;
  std::vector<Setting> set_;
};

Result<std::vector<Setting>> read_settings(const nlohmann::json& map) {
  std::vector<std::string> known;
  const auto ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    for (const auto& spec : ops.find(name)->attrs) {
      if (spec.role != graph::AttrRole::kDerived) known.push_back(spec.name);
    }
  }
  std::vector<Setting> settings;
  std::size_t count = 1;
  for (const auto& [name, value] : map.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string near = nearest_name(name, known);
      return bad_set("no operator has an attribute '" + name + "'" +
                     (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    Setting setting{name, {}};
    if (value.is_array()) {
      setting.values.assign(value.begin(), value.end());
    } else {
      setting.values.push_back(value);
    }
    if (setting.values.empty()) return bad_set("'" + name + "' needs at least one value");
    if (setting.values.size() > kMaxVariants / count) return bad_set("more than 1024 combinations");
    count *= setting.values.size();
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<std::unique_ptr<Mutator>> make_operator(const Options& options) {
  LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", 1));
  auto set = read_settings(options.at("set"));
  if (!set) return set.error();
  auto to = options.at("to").get<std::vector<std::string>>();
  if (to.empty() && set->empty()) to = family_words();
  std::vector<LayerText> layers;
  for (const std::string& text : to) {
    auto layer = LayerText::parse(text);
    if (!layer) return Error{layer.error().code, layer.error().message, "to"};
    layers.push_back(*std::move(layer));
  }
  return std::unique_ptr<Mutator>(std::make_unique<Operator>(std::move(match), std::move(layers), *std::move(set)));
}

}  // namespace

MutatorPlugin operator_plugin() {
  using Kind = OptionSpec::Kind;
  return {
      "operator",
      "puts another operation, or other attributes, in the place of a node",
      {text_option("match", "", "which nodes, e.g. \"conv2d & kernel > 1\"; empty: all"),
       option(
           "to", Kind::kTextList, Options::array(),
           "words or operators with attributes, e.g. [conv5x5, \"leaky_relu(alpha=0.1)\"]; empty: the operator stays"),
       option("set", Kind::kMap, Options::object(),
              "attributes and the values to choose from, e.g. {kernel: [3, 5, 7], padding: same}")},
      make_operator};
}

}  // namespace lanista::mutate
