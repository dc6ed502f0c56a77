#include <algorithm>
#include <set>

#include "lanista/model/spaces/blueprint_plan.h"

namespace lanista::mutate {

using space::Domain;
using space::Parameter;
using space::Value;

namespace {

/// Visits a planned tree and records the conditions under which each choice is reached.
class ParameterReach {
 public:
  /// The position of the walk: visible labels with the suffix of their rounds, and the nearest enclosing choice.
  struct Context {
    std::vector<std::pair<const Labels*, std::string>> levels;
    std::optional<Parameter::Condition> way;
  };

  Result<void> walk(const PlannedChain& chain, const Context& context) {
    for (const PlannedBlock& step : chain.steps) {
      if (++steps_ > kMaxSteps || entries_.size() > kMaxParameters) {
        return Error{Code::kInvalidArgument,
                     "the space is too large: more than " + std::to_string(kMaxParameters) + " choices or " +
                         std::to_string(kMaxSteps) + " blocks in all rounds",
                     step.place};
      }
      LANISTA_TRY(visit(step, context));
    }
    return {};
  }

  bool knows(const std::string& label) const { return entries_.contains(label); }

  /// Orders parents before children, otherwise by first appearance. Errors: kInvalidArgument for a cycle.
  Result<std::vector<Parameter>> parameters() const {
    std::vector<Parameter> out;
    std::set<std::string> done;
    std::vector<std::string> waiting = order_;
    while (!waiting.empty()) {
      std::vector<std::string> later;
      for (const std::string& label : waiting) {
        const Entry& entry = entries_.at(label);
        const auto is_done = [&](const Parameter::Condition& way) { return done.contains(way.parameter); };
        if (!entry.always && !std::ranges::all_of(entry.ways, is_done)) {
          later.push_back(label);
          continue;
        }
        out.push_back({label, entry.domain, entry.always ? std::vector<Parameter::Condition>{} : entry.ways});
        done.insert(label);
      }
      if (later.size() == waiting.size()) {
        return Error{Code::kInvalidArgument, "the choice '" + later.front() + "' is inside itself", ""};
      }
      waiting = std::move(later);
    }
    return out;
  }

 private:
  struct Entry {
    Domain domain;
    std::vector<Parameter::Condition> ways;
    bool always = false;
  };

  Result<void> visit(const PlannedBlock& step, const Context& context) {
    const std::string& suffix = context.levels.back().second;
    for (DeclaredChoice& choice : declared_by(*step.block)) {
      for (Parameter::Condition& way : choice.inner) way.parameter += suffix;
      if (choice.inner.empty() && context.way) choice.inner.push_back(*context.way);
      reach(choice.label + suffix, choice.domain, choice.inner);
      ++steps_;  // a cell may declare thousands of choices
    }
    for (const PlannedSetting& setting : step.settings) {
      for (const PlannedFormula& formula : setting.formulas) read(formula, context);
    }
    if (step.condition) read(*step.condition, context);

    const Block& block = *step.block;
    if (const auto* choice = std::get_if<LayerChoice>(&block.what)) {
      return walk_options(step, choice->options, choice->label + suffix, context);
    }
    if (const auto* repeat = std::get_if<Repeat>(&block.what)) return walk_rounds(step, *repeat, context);
    if (const auto* cell = std::get_if<Cell>(&block.what)) {
      for (std::int64_t node = 1; node <= cell->nodes; ++node) {
        for (std::int64_t input = 1; input <= cell->inputs; ++input) {
          const std::string label = cell_label(*cell, node, input, "op") + suffix;
          LANISTA_TRY(walk_options(step, cell->ops, label, context));
        }
      }
      return walk(step.chains.back(), context);
    }
    if (step.condition) return walk_when(step, context);
    for (const PlannedChain& chain : step.chains) LANISTA_TRY(walk(chain, context));
    return {};
  }

  Result<void> walk_options(const PlannedBlock& step, const std::vector<Option>& options, const std::string& label,
                            const Context& context) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      Context inside = context;
      if (options.size() > 1) inside.way = Parameter::Condition{label, {Value(options[i].name)}};
      LANISTA_TRY(walk(step.chains[i], inside));
    }
    return {};
  }

  Result<void> walk_rounds(const PlannedBlock& step, const Repeat& repeat, const Context& context) {
    const std::vector<std::int64_t> rounds = rounds_of(repeat);
    const std::string& suffix = context.levels.back().second;
    // Rounds with shared choices are reached together with the first round.
    const std::int64_t last = repeat.own ? rounds.back() : std::min<std::int64_t>(rounds.back(), 1);
    for (std::int64_t round = 1; round <= last; ++round) {
      Context inside = context;
      if (rounds.front() < round) {
        inside.way = Parameter::Condition{repeat.label + suffix, {}};
        for (const std::int64_t depth : rounds) {
          if (depth >= round) inside.way->values.emplace_back(depth);
        }
      }
      if (repeat.own) inside.levels.emplace_back(&step.own, suffix + "/" + std::to_string(round));
      LANISTA_TRY(walk(step.chains.front(), inside));
    }
    return {};
  }

  /// A condition on a single choice decides which of its values reach which side. Otherwise both sides may be reached.
  Result<void> walk_when(const PlannedBlock& step, const Context& context) {
    std::vector<Context> sides(2, context);
    const auto& names = step.condition->expression.names();
    if (!context.way && names.size() == 1 && step.condition->level.contains(names.front())) {
      const auto& [labels, suffix] = context.levels[step.condition->level.at(names.front())];
      const Domain& domain = labels->at(names.front()).first;
      const std::int64_t count = space::domain_size(domain).value_or(kMaxRounds + 1);
      std::vector<std::vector<Value>> values(2);
      for (std::int64_t i = 0; i < count && count <= kMaxRounds; ++i) {
        const Value value = space::domain_value(domain, i, count);
        const auto truth =
            step.condition->expression.evaluate([&](const std::string&) -> Result<Value> { return value; });
        const bool* is_true = truth ? std::get_if<bool>(&*truth) : nullptr;
        if (is_true != nullptr) values[*is_true ? 0 : 1].push_back(value);
      }
      for (std::size_t side = 0; side < 2; ++side) {
        if (values[side].empty() || values[1 - side].empty()) continue;
        sides[side].way = Parameter::Condition{names.front() + suffix, values[side]};
      }
    }
    for (std::size_t side = 0; side < 2; ++side) LANISTA_TRY(walk(step.chains[side], sides[side]));
    return {};
  }

  /// The choices in a formula are reached where the formula is.
  void read(const PlannedFormula& formula, const Context& context) {
    std::vector<Parameter::Condition> ways;
    if (context.way) ways.push_back(*context.way);
    for (const auto& [name, level] : formula.level) {
      const auto& [labels, suffix] = context.levels[level];
      reach(name + suffix, labels->at(name).first, ways);
    }
  }

  /// Without conditions, a choice is always active.
  void reach(const std::string& label, const Domain& domain, const std::vector<Parameter::Condition>& ways) {
    const auto [at, is_new] = entries_.try_emplace(label);
    Entry& entry = at->second;
    if (is_new) {
      entry.domain = domain;
      order_.push_back(label);
    }
    entry.always = entry.always || ways.empty();
    for (const Parameter::Condition& way : ways) {
      if (way.parameter == label) continue;  // a choice that reads itself is already reached
      const auto known = std::ranges::find(entry.ways, way.parameter, &Parameter::Condition::parameter);
      if (known == entry.ways.end()) {
        entry.ways.push_back(way);
        continue;
      }
      for (const Value& value : way.values) {
        if (std::ranges::find(known->values, value) == known->values.end()) known->values.push_back(value);
      }
    }
  }

  std::vector<std::string> order_;
  std::map<std::string, Entry> entries_;
  std::size_t steps_ = 0;
};

}  // namespace

Result<std::vector<Parameter>> collect_parameters(const PlannedChain& root, const Labels& global,
                                                  const std::vector<ValueChoice>& choices) {
  ParameterReach reach;
  LANISTA_TRY(reach.walk(root, {{{&global, ""}}, std::nullopt}));
  for (const ValueChoice& choice : choices) {
    if (reach.knows(choice.label)) continue;
    return Error{Code::kInvalidArgument, "the choice is declared, but no formula reads it", "choices." + choice.label};
  }
  return reach.parameters();
}

}  // namespace lanista::mutate
