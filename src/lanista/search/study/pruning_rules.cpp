#include "lanista/search/study/pruning_rules.h"

#include <algorithm>
#include <array>
#include <variant>

#include "lanista/base/edit_distance.h"

namespace lanista::study {
namespace {

using nlohmann::json;

/// Texts in the reasons of trials that ran out of memory: a failed allocation, the study's budget of tensors, a refusal
/// of the system.
constexpr std::array<std::string_view, 4> kShortOfMemory{"out of memory", "tensor memory: ", "the system has no memory",
                                                         "needs more memory than there is"};

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Error refused(const std::string& what, const std::string& where) { return {Code::kInvalidArgument, what, where}; }

std::string seen(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

bool has_order(const space::Domain& domain) {
  const auto* choice = std::get_if<space::Categorical>(&domain);
  return choice == nullptr ||
         std::ranges::all_of(choice->values, [](const auto& v) { return place_of(v).has_value(); });
}

Result<std::string> text_of(const json& in, const char* key, const std::string& wanted) {
  if (!in.contains(key)) return refused("is missing: " + wanted, key);
  if (!in[key].is_string()) return refused(seen(in[key]) + " is not allowed; " + wanted, key);
  return in[key].get<std::string>();
}

}  // namespace

const std::vector<std::string>& pruning_events() {
  static const std::vector<std::string> all{std::string(kWhenDiverged), std::string(kWhenOutOfMemory),
                                            std::string(kWhenRungDecided)};
  return all;
}

bool has_rung_rule(const std::vector<PruningRule>& rules) { return std::ranges::any_of(rules, closes_rungs); }

std::string rule_text(const PruningRule& rule) {
  if (closes_rungs(rule)) return rule.when;
  return rule.when + " along " + rule.along + (rule.up ? " up" : " down");
}

json rule_json(const PruningRule& rule) {
  if (closes_rungs(rule)) return {{"when", rule.when}};
  return {{"when", rule.when}, {"along", rule.along}, {"direction", rule.up ? "up" : "down"}};
}

Result<PruningRule> rule_from_json(const json& in) {
  if (!in.is_object()) {
    return refused(seen(in) + " is not allowed; a rule is {when: EVENT, along: PARAMETER, direction: up or down}", "");
  }
  const std::vector<std::string> known{"when", "along", "direction"};
  for (const auto& [key, value] : in.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      const std::string near = nearest_name(key, known);
      return refused(
          "is no key of a rule; the keys are " + listed(known) + (near.empty() ? "" : "; did you mean '" + near + "'?"),
          key);
    }
  }
  const std::string events = "one of " + listed(pruning_events());
  PruningRule rule;
  LANISTA_ASSIGN(rule.when, text_of(in, "when", events));
  if (std::ranges::find(pruning_events(), rule.when) == pruning_events().end()) {
    const std::string near = nearest_name(rule.when, pruning_events());
    return refused(
        "'" + rule.when + "' is no event; " + events + (near.empty() ? "" : "; did you mean '" + near + "'?"), "when");
  }
  if (closes_rungs(rule)) {
    for (const char* key : {"along", "direction"}) {
      if (in.contains(key)) return refused("is not allowed with 'decided', which is about rungs, not parameters", key);
    }
    return rule;
  }
  LANISTA_ASSIGN(rule.along, text_of(in, "along", "a parameter of the space"));
  LANISTA_ASSIGN(const std::string direction, text_of(in, "direction", "up or down"));
  if (direction != "up" && direction != "down") {
    return refused("'" + direction + "' is not allowed; up or down", "direction");
  }
  rule.up = direction == "up";
  return rule;
}

Result<void> check_rules(const std::vector<PruningRule>& rules, const std::vector<space::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const space::Parameter& parameter : parameters) {
    if (std::ranges::find(names, parameter.name) == names.end()) names.push_back(parameter.name);
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const PruningRule& rule = rules[i];
    const std::string where = "[" + std::to_string(i) + "]";
    const auto equal_rule = std::find_if(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(i),
                                         [&](const auto& r) { return r.when == rule.when && r.along == rule.along; });
    if (equal_rule != rules.begin() + static_cast<std::ptrdiff_t>(i)) {
      return refused(equal_rule->up == rule.up ? "'" + rule_text(rule) + "' is listed twice"
                                               : "'" + rule_text(rule) + "' conflicts with '" + rule_text(*equal_rule) +
                                                     "': with both, one failure would end every trial",
                     where);
    }
    if (closes_rungs(rule)) continue;
    if (std::ranges::find(names, rule.along) == names.end()) {
      const std::string near = nearest_name(rule.along, names);
      return refused("'" + rule.along + "' is no parameter of the space; there are " +
                         (names.empty() ? "none" : listed(names)) +
                         (near.empty() ? "" : "; did you mean '" + near + "'?"),
                     where + ".along");
    }
    for (const space::Parameter& parameter : parameters) {
      if (parameter.name != rule.along || has_order(parameter.domain)) continue;
      return refused("'" + rule.along + "' is " + space::domain_text(parameter.domain) +
                         ", which has no order; a range, or choices that are all numbers",
                     where + ".along");
    }
  }
  return {};
}

std::string_view failure_event(const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kFailed) return {};
  if (outcome.reason.starts_with("diverged: ")) return kWhenDiverged;
  const bool is_short = std::ranges::any_of(
      kShortOfMemory, [&](std::string_view words) { return outcome.reason.find(words) != std::string::npos; });
  return is_short ? kWhenOutOfMemory : std::string_view();
}

std::optional<double> place_of(const space::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

OutcomeKind kind_for_strategy(const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kPrunedByRule) return outcome.kind;
  return outcome.rule == kWhenRungDecided ? OutcomeKind::kCancelled : OutcomeKind::kFailed;
}

}  // namespace lanista::study
