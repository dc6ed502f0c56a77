#include <algorithm>

#include "lanista/model/spaces/blueprint_plan.h"

namespace lanista::mutate {

using space::Categorical;
using space::Domain;

namespace {

Domain names_domain(const std::vector<std::string>& names) {
  Categorical out;
  for (const std::string& name : names) out.values.emplace_back(name);
  return out;
}

std::vector<std::string> option_names(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return names;
}

Domain subsets_domain(const std::vector<std::string>& names, std::int64_t min_count, std::int64_t most) {
  Categorical out;
  for (const auto& members : subsets(names.size(), min_count, most))
    out.values.emplace_back(subset_text(members, names));
  return out;
}

void declare_cell(const Cell& cell, std::vector<DeclaredChoice>& out) {
  std::vector<std::string> sources = cell_inputs(cell);
  for (std::int64_t node = 1; node <= std::min(cell.nodes, kMaxCellNodes); ++node) {
    if (cell.distinct) {
      out.push_back({cell_label(cell, node, 0, "from"), subsets_domain(sources, cell.inputs, cell.inputs)});
    }
    for (std::int64_t input = 1; input <= std::min(cell.inputs, kMaxCellInputs); ++input) {
      if (!cell.distinct) out.push_back({cell_label(cell, node, input, "from"), names_domain(sources)});
      out.push_back({cell_label(cell, node, input, "op"), names_domain(option_names(cell.ops))});
    }
    sources.push_back(std::to_string(node));
  }
}

/// Returns the chains inside a block of which the choices are declared with it, not in own rounds.
std::vector<const Chain*> inner_chains(const Block& block) {
  std::vector<const Chain*> chains;
  const auto add_options = [&](const std::vector<Option>& options) {
    for (const Option& option : options) chains.push_back(&option.layers);
  };
  if (const auto* choice = std::get_if<LayerChoice>(&block.what)) add_options(choice->options);
  if (const auto* cell = std::get_if<Cell>(&block.what)) {
    add_options(cell->ops);
    chains.push_back(&cell->carry);
  }
  if (const auto* group = std::get_if<Group>(&block.what)) chains.push_back(&group->layers);
  if (const auto* repeat = std::get_if<Repeat>(&block.what); repeat != nullptr && !repeat->own) {
    chains.push_back(&repeat->layers);
  }
  if (const auto* parallel = std::get_if<Parallel>(&block.what)) {
    for (const Chain& branch : parallel->branches) chains.push_back(&branch);
  }
  if (const auto* when = std::get_if<When>(&block.what)) chains = {&when->then, &when->otherwise};
  return chains;
}

const char* kind_of(const Block& block) {
  constexpr const char* kKinds[] = {"layer", "choice", "inputs", "repeat", "parallel", "if", "group", "cell", "custom"};
  return kKinds[block.what.index()];
}

std::string label_of(const Block& block) {
  if (const auto* layer = std::get_if<Layer>(&block.what)) return layer->op;
  if (const auto* choice = std::get_if<LayerChoice>(&block.what)) return choice->label;
  if (const auto* inputs = std::get_if<InputChoice>(&block.what)) return inputs->label;
  if (const auto* repeat = std::get_if<Repeat>(&block.what)) return repeat->label;
  if (const auto* cell = std::get_if<Cell>(&block.what)) return cell->label;
  if (const auto* custom = std::get_if<Custom>(&block.what)) return custom->name;
  return block.name;
}

/// Collects the declarations of a tree, within limits.
class LabelCollector {
 public:
  explicit LabelCollector(Labels& out) : out_(out) {}

  Result<void> collect(const Chain& chain, const std::string& place, std::size_t depth) {
    if (depth > kMaxBlockDepth) {
      return wrong("blocks are nested more than " + std::to_string(kMaxBlockDepth) + " deep", place);
    }
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const std::string at = block_path(place, i, chain[i]);
      for (const DeclaredChoice& choice : declared_by(chain[i])) LANISTA_TRY(declare(choice.label, choice.domain, at));
      const auto* repeat = std::get_if<Repeat>(&chain[i].what);
      if (repeat != nullptr && !repeat->own) {
        for (const ValueChoice& choice : repeat->choices) LANISTA_TRY(declare(choice.label, choice.domain, at));
      }
      for (const Chain* inner : inner_chains(chain[i])) LANISTA_TRY(collect(*inner, at, depth + 1));
    }
    return {};
  }

 private:
  static Error wrong(const std::string& message, const std::string& place) {
    return {Code::kInvalidArgument, message, place};
  }

  Result<void> declare(const std::string& label, const Domain& domain, const std::string& place) {
    const auto* categorical = std::get_if<Categorical>(&domain);
    values_ += categorical == nullptr ? 1 : categorical->values.size();
    if (values_ > kMaxValues) {
      return wrong("the choices have more than " + std::to_string(kMaxValues) + " values together", place);
    }
    const auto [known, is_new] = out_.emplace(label, std::pair(domain, place));
    if (is_new || known->second.first == domain) return {};
    return wrong("'" + label + "' is " + space::domain_text(domain) + " here, but " +
                     space::domain_text(known->second.first) + " at " + known->second.second +
                     "; equal labels are one choice",
                 place);
  }

  Labels& out_;
  std::size_t values_ = 0;
};

}  // namespace

std::vector<std::vector<std::size_t>> subsets(std::size_t count, std::int64_t min_count, std::int64_t most) {
  std::vector<std::vector<std::size_t>> out;
  for (auto size = static_cast<std::size_t>(min_count); size <= static_cast<std::size_t>(most) && size <= count;
       ++size) {
    std::vector<std::size_t> members(size);
    for (std::size_t i = 0; i < size; ++i) members[i] = i;
    while (true) {
      out.push_back(members);
      if (out.size() > kMaxSubsets) return out;
      std::size_t i = size;
      while (i > 0 && members[i - 1] == count - size + i - 1) --i;
      if (i == 0) break;
      ++members[i - 1];
      for (std::size_t k = i; k < size; ++k) members[k] = members[k - 1] + 1;
    }
  }
  return out;
}

std::string subset_text(const std::vector<std::size_t>& members, const std::vector<std::string>& names) {
  std::string text;
  for (const std::size_t i : members) text += (text.empty() ? "" : "+") + names[i];
  return text.empty() ? "none" : text;
}

bool is_any_subset(const InputChoice& choice) {
  return choice.min_count == 0 && choice.most == static_cast<std::int64_t>(choice.from.size()) && choice.most > 1;
}

std::vector<std::int64_t> rounds_of(const Repeat& repeat) {
  std::vector<std::int64_t> rounds;
  if (!space::check_domain(repeat.depth)) return {};
  const std::int64_t count = space::domain_size(repeat.depth).value_or(0);
  for (std::int64_t i = 0; i < std::min(count, kMaxRounds + 2); ++i) {
    const space::Value value = space::domain_value(repeat.depth, i, count);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) rounds.push_back(*whole);
  }
  std::ranges::sort(rounds);
  return rounds;
}

std::vector<std::string> cell_inputs(const Cell& cell) {
  return cell.previous.empty() ? std::vector<std::string>{"in"} : cell.previous;
}

bool can_output_inputs(const Cell& cell) { return cell.joins_unread_inputs || !cell.gives.empty(); }

std::string cell_label(const Cell& cell, std::int64_t node, std::int64_t input, const char* what) {
  return cell.label + "/" + std::to_string(node) + (input > 0 ? "." + std::to_string(input) : "") + "." + what;
}

std::vector<DeclaredChoice> declared_by(const Block& block) {
  std::vector<DeclaredChoice> out;
  if (const auto* layer = std::get_if<Layer>(&block.what)) {
    for (const auto& [name, setting] : layer->attrs) {
      const auto* choice = std::get_if<ValueChoice>(&setting.value);
      if (choice != nullptr) out.push_back({choice->label, choice->domain});
    }
  } else if (const auto* choice = std::get_if<LayerChoice>(&block.what)) {
    out.push_back({choice->label, names_domain(option_names(choice->options))});
  } else if (const auto* inputs = std::get_if<InputChoice>(&block.what)) {
    if (is_any_subset(*inputs)) {
      for (const std::string& name : inputs->from) {
        out.push_back({inputs->label + "/" + name, Categorical{{false, true}}});
      }
    } else {
      out.push_back({inputs->label, subsets_domain(inputs->from, inputs->min_count, inputs->most)});
    }
  } else if (const auto* repeat = std::get_if<Repeat>(&block.what)) {
    if (rounds_of(*repeat).size() > 1) out.push_back({repeat->label, repeat->depth});
  } else if (const auto* cell = std::get_if<Cell>(&block.what)) {
    declare_cell(*cell, out);
  } else if (const auto* custom = std::get_if<Custom>(&block.what)) {
    for (const space::Parameter& p : custom->parameters) out.push_back({p.name, p.domain, p.when});
  }
  return out;
}

std::string block_path(const std::string& chain, std::size_t i, const Block& block) {
  const std::string label = label_of(block);
  const bool is_layer = std::holds_alternative<Layer>(block.what);
  return chain + "[" + std::to_string(i) + "]." + (is_layer ? "" : kind_of(block)) +
         (is_layer || label.empty() ? "" : " ") + label;
}

Result<void> collect_labels(const Chain& chain, const std::string& place, Labels& out) {
  return LabelCollector(out).collect(chain, place, 0);
}

}  // namespace lanista::mutate
