#include "lanista/model/spaces/blueprint_plan.h"

#include <algorithm>

#include "lanista/model/graph/size_limits.h"
#include "lanista/model/mutate/model_view.h"

namespace lanista::mutate {

namespace {

constexpr std::int64_t kMaxIds = graph::kMaxNodeId;

bool is_reserved(std::string_view name) {
  return name == "in" || name == "outputs" || name == "classes" || name == "outer" || name == "vocab";
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// Converts a value to an attribute of this kind, or returns no value.
std::optional<graph::AttrValue> as_kind(const graph::AttrValue& kind, const graph::AttrValue& value) {
  if (kind.index() == value.index()) return value;
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole == nullptr) return std::nullopt;
  if (std::holds_alternative<double>(kind)) return static_cast<double>(*whole);
  if (std::holds_alternative<std::vector<std::int64_t>>(kind)) return std::vector<std::int64_t>{*whole};
  return std::nullopt;
}

class Planner {
 public:
  Planner(const graph::OpTable& ops, const ChainScope& around)
      : ops_(ops), levels_(around.levels), indices_(around.indices) {}

  Result<PlannedChain> chain(const Chain& chain, std::set<std::string>& names, const std::string& place) {
    if (++depth_ > kMaxBlockDepth)
      return wrong(place, "blocks are nested more than " + std::to_string(kMaxBlockDepth) + " deep");
    PlannedChain out;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (++blocks_ > kMaxBlocks) return wrong(place, "more than " + std::to_string(kMaxBlocks) + " blocks");
      const std::string at = block_path(place, i, chain[i]);
      LANISTA_ASSIGN(out.steps.emplace_back(), block(chain[i], names, at));
      out.ids += out.steps.back().ids;
      out.min_extent += out.steps.back().min_extent;
      if (out.ids > kMaxIds) return wrong(at, "the space needs more node numbers than there are");
    }
    --depth_;
    return out;
  }

 private:
  static Error wrong(const std::string& place, const std::string& message) {
    return {Code::kInvalidArgument, message, place};
  }

  static Result<void> check_word(const std::string& word, const std::string& what, const std::string& place) {
    const auto is_good = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
             c == '.' || c == '/';
    };
    if (!word.empty() && word.size() <= 256 && std::ranges::all_of(word, is_good)) return {};
    return wrong(place, what + " '" + word + "' must be a word of letters, digits, and _ - . /");
  }

  Result<void> check_known(const std::vector<std::string>& wanted, const std::set<std::string>& names,
                           const std::string& place) const {
    for (const std::string& name : wanted) {
      if (names.contains(name)) continue;
      return wrong(place, "there is no value '" + name + "' here (known: " + listed(names) + ")");
    }
    return {};
  }

  Result<PlannedBlock> block(const Block& block, std::set<std::string>& names, const std::string& place) {
    PlannedBlock out;
    out.block = &block;
    out.place = place;
    LANISTA_TRY(check_known(block.from, names, place));
    if (block.from.size() > 1 && !std::holds_alternative<Layer>(block.what)) {
      return wrong(place, "reads " + std::to_string(block.from.size()) + " values; only an operator can");
    }
    LANISTA_TRY(std::visit([&](const auto& what) { return plan(what, block, names, out); }, block.what));
    ++out.min_extent.steps;
    for (const DeclaredChoice& choice : declared_by(block)) {
      if (levels_.empty()) return wrong(place, "there can be no choices in a chain that code has built");
      LANISTA_TRY(check_word(choice.label, "the label", place));
      if (is_reserved(choice.label)) return wrong(place, "'" + choice.label + "' cannot be a label: it has a meaning");
      if (const auto good = space::check_domain(choice.domain); !good) return wrong(place, good.error().message);
    }
    if (!block.name.empty()) {
      LANISTA_TRY(check_word(block.name, "the name", place));
      names.insert(block.name);
    }
    return out;
  }

  Result<void> add_chain(const Chain& inner, std::set<std::string> names, const std::string& place, PlannedBlock& out) {
    LANISTA_ASSIGN(out.chains.emplace_back(), chain(inner, names, place));
    return {};
  }
  Result<void> add_options(const std::vector<Option>& options, const std::set<std::string>& names, PlannedBlock& out) {
    if (options.empty()) return wrong(out.place, "a choice needs options");
    std::set<std::string> seen;
    for (const Option& option : options) {
      LANISTA_TRY(check_word(option.name, "the option", out.place));
      if (!seen.insert(option.name).second) return wrong(out.place, "there are two options '" + option.name + "'");
      LANISTA_TRY(add_chain(option.layers, names, out.place + "." + option.name, out));
    }
    return {};
  }
  static ExpansionSize sum_of_min_extents(const PlannedBlock& out) {
    ExpansionSize sum;
    for (const PlannedChain& chain : out.chains) sum += chain.min_extent;
    return sum;
  }
  static std::int64_t sum_of_chains(const PlannedBlock& out) {
    std::int64_t sum = 0;
    for (const PlannedChain& chain : out.chains) sum += chain.ids;
    return sum;
  }

  Result<void> plan(const Layer& layer, const Block& block, std::set<std::string>&, PlannedBlock& out) {
    const graph::OpDef* def = ops_.find(layer.op);
    if (def == nullptr) {
      const std::string near = ops_.nearest(layer.op);
      return Error{Code::kNotFound,
                   "there is no operator '" + layer.op + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
                   out.place};
    }
    if (def->level != graph::OpLevel::kModel || layer.op == "input" || layer.op == "output") {
      return wrong(out.place, "'" + layer.op + "' is not allowed in a model space");
    }
    const auto count = static_cast<int>(std::max<std::size_t>(block.from.size(), 1));
    if (count < def->min_inputs || (def->max_inputs >= 0 && count > def->max_inputs)) {
      return wrong(out.place, layer.op + " cannot read " + std::to_string(count) + " values");
    }
    for (const auto& [name, setting] : layer.attrs) LANISTA_TRY(plan_setting(layer, *def, name, setting, out));
    for (const graph::AttrSpec& spec : def->attrs) {
      const auto given = std::ranges::find(out.settings, spec.name, &PlannedSetting::name);
      if (!spec.required || given != out.settings.end()) continue;
      return wrong(out.place, layer.op + " needs '" + spec.name + "': " + spec.help);
    }
    out.ids = count == 1 ? 1 : join_ids(static_cast<std::size_t>(count));
    out.min_extent.nodes = 1;
    return {};
  }

  Result<void> plan_setting(const Layer& layer, const graph::OpDef& def, const std::string& name,
                            const Setting& setting, PlannedBlock& out) {
    const auto spec = std::ranges::find(def.attrs, name, &graph::AttrSpec::name);
    if (spec == def.attrs.end() || spec->role == graph::AttrRole::kDerived) {
      std::set<std::string> known;
      for (const graph::AttrSpec& attr : def.attrs) {
        if (attr.role != graph::AttrRole::kDerived) known.insert(attr.name);
      }
      return wrong(out.place, layer.op + " has no '" + name + "' to set (it has: " + listed(known) + ")");
    }
    if (std::ranges::find(out.settings, name, &PlannedSetting::name) != out.settings.end()) {
      return wrong(out.place, "'" + name + "' is set twice");
    }
    PlannedSetting planned{name, {}, {}, false};
    if (const auto* value = std::get_if<graph::AttrValue>(&setting.value)) {
      const auto* text = std::get_if<std::string>(value);
      const bool is_same = text != nullptr && *text == "same" && name == "padding";
      planned.value = is_same ? std::optional(*value) : as_kind(spec->default_value, *value);
      if (!planned.value) {
        const std::string list = graph::attr_text(*value);
        const bool is_list = std::holds_alternative<std::vector<std::int64_t>>(*value);
        return wrong(out.place, name + " is " + list + ", which " + layer.op + " cannot take" +
                                    (is_list ? "; to choose one of them, write " + name + ": {label: " + name +
                                                   ", of: " + list + "}"
                                             : ""));
      }
    } else if (const auto* formula = std::get_if<Formula>(&setting.value)) {
      LANISTA_ASSIGN(planned.formulas.emplace_back(), plan_formula(*formula, out.place));
    } else if (const auto* list = std::get_if<std::vector<Formula>>(&setting.value)) {
      planned.is_list = true;
      for (const Formula& item : *list) {
        LANISTA_ASSIGN(planned.formulas.emplace_back(), plan_formula(item, out.place));
      }
    }
    // A choice that is declared here is looked up by its label.
    out.settings.push_back(std::move(planned));
    return {};
  }

  Result<PlannedFormula> plan_formula(const Formula& formula, const std::string& place) const {
    auto parsed = Expression::parse(formula.text);
    if (!parsed) return wrong(place, parsed.error().message);
    PlannedFormula out{*std::move(parsed), {}};
    for (const std::string& name : out.expression.names()) {
      if (is_reserved(name) || indices_.contains(name)) continue;
      std::size_t level = levels_.size();
      while (level > 0 && !levels_[level - 1]->contains(name)) --level;
      if (level == 0) {
        std::set<std::string> known{indices_};
        for (const Labels* labels : levels_) {
          for (const auto& [label, declared] : *labels) known.insert(label);
        }
        return wrong(place, "\"" + formula.text + "\" reads '" + name +
                                "', which is no choice (known: " + listed(known) + ", in, outputs)");
      }
      out.level[name] = level - 1;
    }
    return out;
  }

  Result<void> plan(const LayerChoice& choice, const Block&, std::set<std::string>& names, PlannedBlock& out) {
    LANISTA_TRY(add_options(choice.options, names, out));
    out.ids = sum_of_chains(out);
    out.min_extent = min_extent_of(out.chains);
    return {};
  }

  Result<void> plan(const InputChoice& choice, const Block&, std::set<std::string>& names, PlannedBlock& out) {
    LANISTA_TRY(check_known(choice.from, names, out.place));
    LANISTA_TRY(check_known(choice.always, names, out.place));
    const auto count = static_cast<std::int64_t>(choice.from.size());
    if (choice.min_count < 0 || choice.min_count > choice.most || choice.most > count || choice.most < 1) {
      return wrong(out.place, "cannot choose " + std::to_string(choice.min_count) + " to " +
                                  std::to_string(choice.most) + " of " + std::to_string(count) + " values");
    }
    if (choice.min_count == 0 && choice.always.empty()) {
      return wrong(out.place, "choosing none needs a value that is always read");
    }
    if (!is_any_subset(choice) && too_many_subsets(count, choice.most)) {
      return wrong(out.place, "there are more than " + std::to_string(kMaxSubsets) + " ways to choose");
    }
    out.ids = join_ids(choice.from.size() + choice.always.size());
    return {};
  }
  static bool too_many_subsets(std::int64_t count, std::int64_t most) {
    double ways = 1, sum = 1;
    for (std::int64_t k = 1; k <= most; ++k) {
      ways *= static_cast<double>(count - k + 1) / static_cast<double>(k);
      sum += ways;
    }
    return sum > static_cast<double>(kMaxSubsets);
  }

  Result<void> plan(const Repeat& repeat, const Block&, std::set<std::string>& names, PlannedBlock& out) {
    const auto size = space::domain_size(repeat.depth);
    const bool is_small = size && *size <= kMaxRounds + 1;
    const auto rounds = is_small ? rounds_of(repeat) : std::vector<std::int64_t>{};
    const bool is_whole = is_small && static_cast<std::int64_t>(rounds.size()) == *size;
    if (!is_whole || rounds.empty() || rounds.front() < 0 || rounds.back() > kMaxRounds) {
      return wrong(out.place, "the depth must be whole numbers in 0.." + std::to_string(kMaxRounds) + ", not " +
                                  space::domain_text(repeat.depth));
    }
    if (!repeat.index.empty()) {
      LANISTA_TRY(check_word(repeat.index, "the index", out.place));
      if (is_reserved(repeat.index)) return wrong(out.place, "the index cannot be called '" + repeat.index + "'");
    }
    for (const ValueChoice& choice : repeat.choices) {
      LANISTA_TRY(check_word(choice.label, "the label", out.place));
      if (const auto good = space::check_domain(choice.domain); !good) return wrong(out.place, good.error().message);
    }
    if (repeat.own) {
      LANISTA_TRY(collect_labels(repeat.layers, out.place, out.own));
      for (const ValueChoice& choice : repeat.choices)
        out.own.emplace(choice.label, std::pair(choice.domain, out.place));
    }
    const auto outer_indices = indices_;
    if (!repeat.index.empty()) indices_.insert(repeat.index);
    if (repeat.own) levels_.push_back(&out.own);
    std::set<std::string> inside = names;
    LANISTA_ASSIGN(out.chains.emplace_back(), chain(repeat.layers, inside, out.place));
    if (repeat.own) levels_.pop_back();
    indices_ = outer_indices;
    if (rounds.front() > 0) names = inside;  // names from inside are visible only if there is at least one round
    out.ids = rounds.back() * out.chains.front().ids;
    out.min_extent = rounds.front() * out.chains.front().min_extent;
    return {};
  }

  Result<void> plan(const Parallel& parallel, const Block&, std::set<std::string>& names, PlannedBlock& out) {
    if (parallel.branches.empty()) return wrong(out.place, "there are no branches");
    for (std::size_t i = 0; i < parallel.branches.size(); ++i) {
      LANISTA_TRY(add_chain(parallel.branches[i], names, out.place + ".branches[" + std::to_string(i) + "]", out));
    }
    out.ids = sum_of_chains(out) + join_ids(parallel.branches.size());
    out.min_extent = sum_of_min_extents(out);
    return {};
  }

  Result<void> plan(const When& when, const Block&, std::set<std::string>& names, PlannedBlock& out) {
    LANISTA_ASSIGN(out.condition, plan_formula(when.condition, out.place));
    LANISTA_TRY(add_chain(when.then, names, out.place + ".then", out));
    LANISTA_TRY(add_chain(when.otherwise, names, out.place + ".else", out));
    out.ids = sum_of_chains(out);
    out.min_extent = min_extent_of(out.chains);
    return {};
  }

  Result<void> plan(const Group& group, const Block&, std::set<std::string>& names, PlannedBlock& out) {
    LANISTA_ASSIGN(out.chains.emplace_back(), chain(group.layers, names, out.place));
    out.ids = out.chains.front().ids;
    out.min_extent = out.chains.front().min_extent;
    return {};
  }

  Result<void> plan(const Cell& cell, const Block&, std::set<std::string>& names, PlannedBlock& out) {
    if (cell.nodes < 1 || cell.nodes > kMaxCellNodes || cell.inputs < 1 || cell.inputs > kMaxCellInputs) {
      return wrong(out.place, "a cell has 1 to 64 nodes of 1 to 16 inputs, not " + std::to_string(cell.nodes) + " of " +
                                  std::to_string(cell.inputs));
    }
    LANISTA_TRY(check_known(cell.previous, names, out.place));
    const auto first = static_cast<std::int64_t>(cell_inputs(cell).size());
    if (cell.distinct && first < cell.inputs) {
      return wrong(out.place, "node 1 cannot read " + std::to_string(cell.inputs) + " different values of " +
                                  std::to_string(first));
    }
    if (cell.distinct && too_many_subsets(first + cell.nodes, cell.inputs)) {
      return wrong(out.place, "there are more than " + std::to_string(kMaxSubsets) + " ways to choose");
    }
    LANISTA_TRY(check_given(cell, out.place));
    LANISTA_TRY(add_options(cell.ops, names, out));
    const auto nodes = static_cast<std::size_t>(cell.nodes);
    const std::int64_t of_node = cell.inputs * sum_of_chains(out) + join_ids(static_cast<std::size_t>(cell.inputs));
    out.min_extent = (cell.nodes * cell.inputs) * min_extent_of(out.chains);
    LANISTA_TRY(add_chain(cell.carry, names, out.place + ".carry", out));
    out.ids = cell.nodes * of_node + first * out.chains.back().ids +
              join_ids(nodes + (can_output_inputs(cell) ? static_cast<std::size_t>(first) : 0));
    return {};
  }

  Result<void> check_given(const Cell& cell, const std::string& place) const {
    const std::vector<std::string> inputs = cell_inputs(cell);
    std::set<std::string> known(inputs.begin(), inputs.end());
    for (std::int64_t node = 1; node <= cell.nodes; ++node) known.insert(std::to_string(node));
    for (const std::string& name : cell.gives) {
      if (known.erase(name) == 0) return wrong(place, "cannot give '" + name + "': no value of it, or given twice");
    }
    return {};
  }

  Result<void> plan(const Custom& custom, const Block&, std::set<std::string>&, PlannedBlock& out) {
    if (!custom.build) return wrong(out.place, "a custom block needs a function that builds it");
    if (custom.slots < 1 || custom.ids_per_slot < 1 || custom.slots > kMaxIds / custom.ids_per_slot) {
      return wrong(out.place, std::to_string(custom.slots) + " slots of " + std::to_string(custom.ids_per_slot) +
                                  " node numbers are too few or too many");
    }
    out.ids = custom.slots * custom.ids_per_slot;
    return {};
  }

  const graph::OpTable& ops_;
  std::vector<const Labels*> levels_;
  std::set<std::string> indices_;
  std::size_t depth_ = 0;
  std::size_t blocks_ = 0;
};

}  // namespace

Result<PlannedChain> plan_chain(const graph::OpTable& ops, const Chain& chain, const ChainScope& around,
                                const std::string& place) {
  std::set<std::string> names = around.names;
  return Planner(ops, around).chain(chain, names, place);
}

}  // namespace lanista::mutate
