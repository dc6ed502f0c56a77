#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// Events of a pruning rule along a parameter: a trial diverged, or ran out of memory.
inline constexpr std::string_view kWhenDiverged = "diverged", kWhenOutOfMemory = "out_of_memory";
/// Event of a rung rule: no result can change any more which trials are promoted from a rung, or which is the best of
/// the study.
inline constexpr std::string_view kWhenRungDecided = "decided";

/// Orders in a trial group. `needed_first`: first the trials that no pending result can prune. `informative`: by the
/// expected saved cost divided by the own cost (Fluid, class discussion). `given`: the order of the strategy.
inline constexpr std::string_view kNeededFirst = "needed_first", kInformativeFirst = "informative", kAsGiven = "given";

/// A pruning rule of the study file (`implied`): a result of one trial ends other trials.
///
/// A failure rule prunes each trial that is equal to a failed trial except for `along`, and lies further in its
/// direction. A rung rule ends the trials that still train to a rung that is closed early.
struct PruningRule {
  std::string when;   ///< Event, one of pruning_events().
  std::string along;  ///< Name of a numeric hyper-parameter of the space; empty: a rung rule.
  bool up = true;     ///< True: trials with larger values are pruned; false: with smaller values.
  bool operator==(const PruningRule&) const = default;
};
/// Returns the names of the events of pruning rules.
const std::vector<std::string>& pruning_events();
/// True if `rule` is a rung rule; false: a failure rule.
inline bool closes_rungs(const PruningRule& rule) { return rule.when == kWhenRungDecided; }
/// True if at least one of the rules is a rung rule.
bool has_rung_rule(const std::vector<PruningRule>& rules);
/// Returns a rule as text: "diverged along lr up", "decided".
std::string rule_text(const PruningRule& rule);
/// Returns a rule in the notation of study files: {"when", "along", "direction"}, or {"when"} for a rung rule.
nlohmann::json rule_json(const PruningRule& rule);
/// Reads a rule in the notation of study files. Errors: kInvalidArgument (a key or value that is not allowed; the
/// message lists the allowed ones).
Result<PruningRule> rule_from_json(const nlohmann::json& json);
/// Checks the rules against the parameters of the space: `along` names an ordered parameter, and no two rules have the
/// same event and parameter. Errors: kInvalidArgument (otherwise); the location is "[i]" or "[i].along".
Result<void> check_rules(const std::vector<PruningRule>& rules, const std::vector<space::Parameter>& parameters);

/// Returns the event of a failed trial, from its reason: kWhenDiverged or kWhenOutOfMemory. Empty for other reasons and
/// outcomes.
std::string_view failure_event(const Outcome& outcome);
/// Returns the number by which values of a parameter are ordered; nullopt for a text or a truth value, which have no
/// order.
std::optional<double> place_of(const space::Value& value);

/// Returns the outcome kind that a strategy receives in place of that of `outcome`. A trial pruned by a failure rule
/// counts as kFailed, because the rule predicts a failure. A trial ended by a rung rule counts as kCancelled, because
/// its result is unknown. Other kinds are unchanged.
OutcomeKind kind_for_strategy(const Outcome& outcome);

}  // namespace lanista::study
