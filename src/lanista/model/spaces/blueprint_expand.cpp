#include <algorithm>
#include <set>

#include "lanista/model/graph/size_limits.h"
#include "lanista/model/spaces/blueprint_nodes.h"
#include "lanista/model/spaces/blueprint_plan.h"

namespace lanista::mutate {

using graph::AttrValue;
using graph::NodeId;
using space::Value;

namespace {

/// Builds the model of one sample. A block gets the first id of its range, and its result depends on no other part
/// of its position.
class Expansion {
 public:
  /// The scope of a block: named values, the suffix of labels for each level of own rounds, round numbers.
  struct Scope {
    std::map<std::string, TypedPort> names;
    std::vector<std::string> suffixes{""};
    std::map<std::string, std::int64_t> indices;
    std::optional<bool> outer;
  };

  Expansion(const space::Sample& sample, const graph::OpTable& ops, const ModelInterface& ends,
            const RepairPolicy& repair)
      : sample_(sample), ops_(ops), ends_(ends), nodes_(ops, repair) {}

  Result<graph::Graph> run(const PlannedChain& root, std::int64_t end) {
    if (const auto why = size_limit_error(extent_of(root, sample_))) return not_applicable(*why);
    LANISTA_ASSIGN(const TypedPort input, nodes_.add(0, "input", {}, ends_.input));
    Scope scope;
    LANISTA_ASSIGN(const TypedPort result, chain(root, input, scope, 1));
    graph::ValueType wanted{{{graph::kBatch, ends_.outputs}}, graph::DType::kReal};
    if (ends_.positions > 0) wanted.shape.dims.insert(wanted.shape.dims.begin() + 1, ends_.positions);
    if (result.type != wanted) {
      return not_applicable("the model gives " + result.type.shape.text() + ", not " + wanted.shape.text());
    }
    LANISTA_TRY(nodes_.add(end - 1, "output", std::vector<TypedPort>{result}, {}));
    return nodes_.finish();
  }

 private:
  using Made = Result<TypedPort>;

  Made chain(const PlannedChain& chain, TypedPort value, Scope& scope, std::int64_t id) {
    for (const PlannedBlock& step : chain.steps) {
      LANISTA_ASSIGN(value, block(step, value, scope, id));
      id += step.ids;
    }
    return value;
  }

  Made block(const PlannedBlock& step, const TypedPort& before, Scope& scope, std::int64_t id) {
    if (++steps_ > kMaxSteps) return not_applicable("more than " + std::to_string(kMaxSteps) + " blocks in all rounds");
    std::vector<TypedPort> inputs;
    for (const std::string& name : step.block->from) {
      LANISTA_ASSIGN(inputs.emplace_back(), named(name, scope));
    }
    if (inputs.empty()) inputs.push_back(before);
    auto made = std::visit([&](const auto& what) { return expand(what, step, inputs, scope, id); }, step.block->what);
    if (!made) {
      Error error = std::move(made).error();
      if (error.where.empty()) error.where = step.place;
      return error;
    }
    if (!step.block->name.empty()) scope.names.insert_or_assign(step.block->name, *made);
    return made;
  }

  static Made named(const std::string& name, const Scope& scope) {
    const auto it = scope.names.find(name);
    if (it == scope.names.end()) return not_applicable("there is no value '" + name + "' here");
    return it->second;
  }

  Result<Value> chosen(const std::string& label) const {
    const auto it = sample_.find(label);
    if (it != sample_.end()) return it->second;
    return Error{Code::kInvalidArgument, "the sample has no value for '" + label + "'", ""};
  }
  Result<std::string> chosen_text(const std::string& label) const {
    LANISTA_ASSIGN(const Value value, chosen(label));
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return Error{Code::kInvalidArgument, "'" + label + "' is " + space::value_text(value) + ", not a name", ""};
  }

  Result<Value> evaluate(const PlannedFormula& formula, const TypedPort& input, const Scope& scope) const {
    return formula.expression.evaluate([&](const std::string& name) -> Result<Value> {
      if (name == "outputs" || name == "classes") return Value(ends_.outputs);
      if (name == "vocab") return Value(ends_.vocab);
      if (name == "outer") {
        if (scope.outer) return Value(*scope.outer);
        return not_applicable("'outer' has a meaning in the options of a cell only");
      }
      if (name == "in") {
        const graph::Shape& shape = input.type.shape;
        if (shape.rank() < 2) return not_applicable("'in': a value of shape " + shape.text() + " has no channels");
        return Value(shape.dims[channel_axis(shape)]);
      }
      const auto index = scope.indices.find(name);
      if (index != scope.indices.end()) return Value(index->second);
      return chosen(name + scope.suffixes[formula.level.at(name)]);
    });
  }

  /// Returns the value of an attribute. Errors: kNotApplicable for a value of another type.
  Result<AttrValue> setting(const PlannedSetting& planned, const Setting& given, const AttrValue& kind,
                            const TypedPort& input, const Scope& scope) const {
    if (planned.value) return *planned.value;
    if (const auto* choice = std::get_if<ValueChoice>(&given.value)) {
      LANISTA_ASSIGN(const Value value, chosen(choice->label + scope.suffixes.back()));
      return as_attribute(value, kind, planned.name);
    }
    if (!planned.is_list) {
      LANISTA_ASSIGN(const Value value, evaluate(planned.formulas.front(), input, scope));
      return as_attribute(value, kind, planned.name);
    }
    std::vector<std::int64_t> list;
    for (const PlannedFormula& formula : planned.formulas) {
      LANISTA_ASSIGN(const Value value, evaluate(formula, input, scope));
      LANISTA_ASSIGN(const AttrValue item, as_attribute(value, AttrValue(std::int64_t{0}), planned.name));
      list.push_back(std::get<std::int64_t>(item));
    }
    return AttrValue(std::move(list));
  }

  Made expand(const Layer& layer, const PlannedBlock& step, const std::vector<TypedPort>& inputs, const Scope& scope,
              std::int64_t id) {
    const graph::OpDef* def = ops_.find(layer.op);
    if (def == nullptr) return Error{Code::kNotFound, "there is no operator '" + layer.op + "'", ""};
    graph::Attrs attrs;
    for (std::size_t i = 0; i < step.settings.size(); ++i) {
      const PlannedSetting& planned = step.settings[i];
      const auto spec = std::ranges::find(def->attrs, planned.name, &graph::AttrSpec::name);
      if (spec == def->attrs.end()) return not_applicable(layer.op + " has no '" + planned.name + "' to set");
      LANISTA_ASSIGN(AttrValue value, setting(planned, layer.attrs[i].second, spec->default_value, inputs[0], scope));
      attrs.set(planned.name, std::move(value));
    }
    LANISTA_TRY(resolve_same_padding(*def, attrs));
    return nodes_.layer(id, layer.op, inputs, attrs, layer.label);
  }

  Made expand_option(const std::vector<Option>& options, const std::string& name, const PlannedBlock& step,
                     const TypedPort& input, const Scope& scope, std::int64_t id) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (options[i].name == name) {
        Scope inside = scope;
        return chain(step.chains[i], input, inside, id);
      }
      id += step.chains[i].ids;
    }
    return Error{Code::kInvalidArgument, "there is no option '" + name + "'", ""};
  }

  Made expand(const LayerChoice& choice, const PlannedBlock& step, const std::vector<TypedPort>& inputs,
              const Scope& scope, std::int64_t id) {
    LANISTA_ASSIGN(const std::string name, chosen_text(choice.label + scope.suffixes.back()));
    return expand_option(choice.options, name, step, inputs[0], scope, id);
  }

  /// Returns the indices of the selected names.
  Result<std::vector<std::size_t>> chosen_subset(const std::string& label, const std::vector<std::string>& names,
                                                 std::int64_t min_count, std::int64_t most) const {
    LANISTA_ASSIGN(const std::string text, chosen_text(label));
    for (const auto& members : subsets(names.size(), min_count, most)) {
      if (subset_text(members, names) == text) return members;
    }
    return Error{Code::kInvalidArgument, "'" + label + "' is '" + text + "', which is none of its values", ""};
  }

  Made expand(const InputChoice& choice, const PlannedBlock&, const std::vector<TypedPort>&, const Scope& scope,
              std::int64_t id) {
    const std::string& suffix = scope.suffixes.back();
    std::vector<std::size_t> members;
    if (is_any_subset(choice)) {
      for (std::size_t i = 0; i < choice.from.size(); ++i) {
        LANISTA_ASSIGN(const Value taken, chosen(choice.label + "/" + choice.from[i] + suffix));
        if (taken == Value(true)) members.push_back(i);
      }
    } else {
      LANISTA_ASSIGN(members, chosen_subset(choice.label + suffix, choice.from, choice.min_count, choice.most));
    }
    std::vector<JoinInput> values;
    for (std::size_t i = 0; i < choice.always.size(); ++i) {
      LANISTA_ASSIGN(const TypedPort value, named(choice.always[i], scope));
      values.push_back({value, i});
    }
    for (const std::size_t i : members) {
      LANISTA_ASSIGN(const TypedPort value, named(choice.from[i], scope));
      values.push_back({value, choice.always.size() + i});
    }
    return nodes_.join(id, choice.join, values, choice.always.size() + choice.from.size());
  }

  Made expand(const Repeat& repeat, const PlannedBlock& step, const std::vector<TypedPort>& inputs, Scope& scope,
              std::int64_t id) {
    const auto possible = rounds_of(repeat);
    std::int64_t rounds = possible.front();
    if (possible.size() > 1) {
      LANISTA_ASSIGN(const Value depth, chosen(repeat.label + scope.suffixes.back()));
      const auto* whole = std::get_if<std::int64_t>(&depth);
      if (whole == nullptr || !std::ranges::binary_search(possible, *whole)) {
        return Error{Code::kInvalidArgument, "'" + repeat.label + "' cannot be " + space::value_text(depth), ""};
      }
      rounds = *whole;
    }
    const auto outer_indices = scope.indices;
    TypedPort value = inputs[0];
    if (step.chains.front().steps.empty()) rounds = 0;
    for (std::int64_t round = 0; round < rounds; ++round) {
      if (!repeat.index.empty()) scope.indices[repeat.index] = round;
      if (repeat.own) scope.suffixes.push_back(scope.suffixes.back() + "/" + std::to_string(round + 1));
      auto made = chain(step.chains.front(), value, scope, id + round * step.chains.front().ids);
      if (repeat.own) scope.suffixes.pop_back();
      if (!made) return made;
      value = *std::move(made);
    }
    scope.indices = outer_indices;
    return value;
  }

  Made expand(const Parallel& parallel, const PlannedBlock& step, const std::vector<TypedPort>& inputs,
              const Scope& scope, std::int64_t id) {
    std::vector<JoinInput> values;
    for (std::size_t i = 0; i < step.chains.size(); ++i) {
      Scope inside = scope;
      LANISTA_ASSIGN(const TypedPort value, chain(step.chains[i], inputs[0], inside, id));
      values.push_back({value, i});
      id += step.chains[i].ids;
    }
    return nodes_.join(id, parallel.join, values, values.size());
  }

  Made expand(const When&, const PlannedBlock& step, const std::vector<TypedPort>& inputs, const Scope& scope,
              std::int64_t id) {
    LANISTA_ASSIGN(const Value value, evaluate(*step.condition, inputs[0], scope));
    const bool* holds = std::get_if<bool>(&value);
    if (holds == nullptr) {
      return not_applicable("\"" + step.condition->expression.text() + "\" is " + space::value_text(value) +
                            ", neither true nor false");
    }
    Scope inside = scope;
    return *holds ? chain(step.chains[0], inputs[0], inside, id)
                  : chain(step.chains[1], inputs[0], inside, id + step.chains[0].ids);
  }

  Made expand(const Group&, const PlannedBlock& step, const std::vector<TypedPort>& inputs, Scope& scope,
              std::int64_t id) {
    return chain(step.chains.front(), inputs[0], scope, id);
  }

  Made expand(const Cell& cell, const PlannedBlock& step, const std::vector<TypedPort>& inputs, const Scope& scope,
              std::int64_t id) {
    const std::string& suffix = scope.suffixes.back();
    std::vector<std::string> names = cell_inputs(cell);
    const std::size_t first = names.size();
    std::vector<TypedPort> values{inputs[0]};
    if (!cell.previous.empty()) values.clear();
    for (const std::string& name : cell.previous) {
      LANISTA_ASSIGN(values.emplace_back(), named(name, scope));
    }
    std::int64_t ids_of_ops = 0;
    for (std::size_t i = 0; i < cell.ops.size(); ++i) ids_of_ops += step.chains[i].ids;

    std::set<std::size_t> read;
    for (std::int64_t node = 1; node <= cell.nodes; ++node) {
      std::vector<std::size_t> sources;
      if (cell.distinct) {
        const std::string label = cell_label(cell, node, 0, "from") + suffix;
        LANISTA_ASSIGN(sources, chosen_subset(label, names, cell.inputs, cell.inputs));
      }
      std::vector<JoinInput> parts;
      for (std::int64_t input = 1; input <= cell.inputs; ++input) {
        if (!cell.distinct) {
          const std::string label = cell_label(cell, node, input, "from") + suffix;
          LANISTA_ASSIGN(const auto source, chosen_subset(label, names, 1, 1));
          sources.push_back(source.front());
        }
        const std::size_t source = sources[static_cast<std::size_t>(input) - 1];
        LANISTA_ASSIGN(const std::string op, chosen_text(cell_label(cell, node, input, "op") + suffix));
        Scope inside = scope;
        inside.outer = source < first;
        LANISTA_ASSIGN(const TypedPort part, expand_option(cell.ops, op, step, values[source], inside, id));
        parts.push_back({part, parts.size()});
        read.insert(source);
        id += ids_of_ops;
      }
      LANISTA_ASSIGN(values.emplace_back(), nodes_.join(id, Join::kSum, parts, parts.size()));
      id += join_ids(parts.size());
      names.push_back(std::to_string(node));
    }
    return join_of(cell, step, names, values, read, scope, id);
  }

  /// Returns the indices of the `values` (inputs, then nodes, with `names`) that a cell joins. `read` lists the read
  /// ones.
  Made join_of(const Cell& cell, const PlannedBlock& step, const std::vector<std::string>& names,
               const std::vector<TypedPort>& values, const std::set<std::size_t>& read, const Scope& scope,
               std::int64_t id) {
    const std::size_t inputs = values.size() - static_cast<std::size_t>(cell.nodes);
    const auto is_given = [&](std::size_t i) {
      if (!cell.gives.empty()) return std::ranges::find(cell.gives, names[i]) != cell.gives.end();
      if (i < inputs && !cell.joins_unread_inputs) return false;
      return !cell.joins_unread_nodes || !read.contains(i);
    };
    const std::size_t unjoined = can_output_inputs(cell) ? 0 : inputs;
    std::vector<JoinInput> ends;
    for (std::size_t i = 0; i < values.size(); ++i) {
      TypedPort value = values[i];
      if (i < inputs) {
        if (is_given(i)) {
          Scope inside = scope;
          inside.outer = true;
          LANISTA_ASSIGN(value, chain(step.chains.back(), value, inside, id));
        }
        id += step.chains.back().ids;
      }
      if (is_given(i)) ends.push_back({value, i - unjoined});
    }
    return nodes_.join(id, cell.join, ends, values.size() - unjoined);
  }

  Made expand(const Custom& custom, const PlannedBlock& step, const std::vector<TypedPort>& inputs, const Scope& scope,
              std::int64_t id) {
    space::Sample own;
    for (const space::Parameter& parameter : custom.parameters) {
      const auto it = sample_.find(parameter.name + scope.suffixes.back());
      if (it != sample_.end()) own[parameter.name] = it->second;
    }
    LANISTA_ASSIGN(const Chain built, custom.build(own));
    ChainScope around;
    for (const auto& [name, value] : scope.names) around.names.insert(name);
    for (const auto& [name, index] : scope.indices) around.indices.insert(name);
    LANISTA_ASSIGN(const PlannedChain planned, plan_chain(ops_, built, around, step.place));

    Scope inside = scope;
    std::set<std::int64_t> taken;
    TypedPort value = inputs[0];
    for (std::size_t i = 0; i < built.size(); ++i) {
      const std::int64_t slot = built[i].slot < 0 ? static_cast<std::int64_t>(i) : built[i].slot;
      if (slot >= custom.slots || planned.steps[i].ids > custom.ids_per_slot || !taken.insert(slot).second) {
        return Error{Code::kInvalidArgument,
                     "block " + std::to_string(i) + " does not fit into slot " + std::to_string(slot) + " of " +
                         std::to_string(custom.slots) + ", or the slot is taken",
                     ""};
      }
      LANISTA_ASSIGN(value, block(planned.steps[i], value, inside, id + slot * custom.ids_per_slot));
    }
    return value;
  }

  const space::Sample& sample_;
  const graph::OpTable& ops_;
  const ModelInterface& ends_;
  TypedNodes nodes_;
  std::size_t steps_ = 0;
};

}  // namespace

Result<graph::Graph> Blueprint::expand(const space::Sample& sample, const graph::OpTable& ops,
                                       const ModelInterface& ends, const RepairPolicy& repair) const {
  return Expansion(sample, ops, ends, repair).run(plan_->root, plan_->end);
}

}  // namespace lanista::mutate
