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

/// Events that let one trial's result stand for another's.
inline constexpr std::string_view kWhenDiverged = "diverged", kWhenOutOfMemory = "out_of_memory";
/// No result can change any more who goes on from a rung, and who is the study's best.
inline constexpr std::string_view kWhenRungDecided = "decided";

/// In which order members of a group are taken up: those that nothing pending can spare first; by the cost that each is
/// expected to save over its own (the class discussion's formula of Fluid); as the strategy has them.
inline constexpr std::string_view kNeededFirst = "needed_first", kInformativeFirst = "informative", kAsGiven = "given";

/// What one trial's result says of others (a study file's `implied`): whoever is equal but for `along`, and lies
/// further in its direction than a trial that failed so, would fail so, too. Or, of a rung that is decided: whoever
/// still trains to it would not go on.
struct PruningRule {
  std::string when;   ///< one of pruning_events()
  std::string along;  ///< a numeric parameter of the space; empty: of a rung
  bool up = true;     ///< further is larger
  bool operator==(const PruningRule&) const = default;
};
const std::vector<std::string>& pruning_events();
inline bool closes_rungs(const PruningRule& rule) { return rule.when == kWhenRungDecided; }
bool has_rung_rule(const std::vector<PruningRule>& rules);
/// "diverged along lr up", "decided".
std::string rule_text(const PruningRule& rule);
/// As study files have it.
nlohmann::json rule_json(const PruningRule& rule);
/// The inverse. Errors: kInvalidArgument with the key, the value seen and what is allowed.
Result<PruningRule> rule_from_json(const nlohmann::json& json);
/// Whether the rules suit what may vary: `along` names parameters with an order, and no rule stands twice. Errors:
/// kInvalidArgument; `where` is "[i].along", say.
Result<void> check_rules(const std::vector<PruningRule>& rules, const std::vector<space::Parameter>& parameters);

/// By which event a trial failed: kWhenDiverged, kWhenOutOfMemory, or empty for anything else.
std::string_view failure_event(const Outcome& outcome);
/// A value's place in an order; none: it has none.
std::optional<double> place_of(const space::Value& value);

/// What a strategy is told of an end. An implied failure is one: the rule says how the trial would have ended, and what
/// strategies make of failures is what they should make of it. Of one whose rung was decided nobody knows how good it
/// is: it was cancelled.
OutcomeKind kind_for_strategy(const Outcome& outcome);

}  // namespace lanista::study
