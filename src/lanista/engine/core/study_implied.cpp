// What results say of other trials by the study's rules, and in which order groups are taken up.
#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lanista/engine/core/study_engine.h"

namespace lanista::engine {

using study::OutcomeKind;

std::optional<strategy::Implications::Implied> StudyEngine::implied(TrialId id, std::int64_t budget) const {
  const std::vector<study::ImpliedRule>& rules = state_.view.config.implied;
  if (rules.empty()) return std::nullopt;
  if (const auto by = implications_.of(id, budget); by || !study::has_rule_of_rungs(rules)) return by;
  // Whoever goes on is known, and so is that this one does not win the study by what it would measure there.
  const auto by = strategy_->verdict(id).decided_by;
  if (!by || !perfect_.any_before(state_.trial(id))) return std::nullopt;
  return strategy::Implications::Implied{*by, std::string(study::kWhenDecided)};
}

Result<void> StudyEngine::end_implied() {
  if (state_.view.config.implied.empty() || !state_.ending.empty() || !state_.winding_up.empty()) return {};
  for (auto trial = active_.begin(); trial != active_.end();) {
    const TrialId id = trial->first;
    const TrialView& view = state_.trial(id);
    const OpenTrial& open = state_.open.at(id);
    // What is settled stays so, and what repeats another trial or is to be cancelled ends as that.
    const bool is_settled =
        open.verdict || (!view.measurements.empty() && view.measurements.back().epoch >= view.budget);
    const auto by = is_settled || open.cancel_asked ? std::nullopt : implied(id, view.budget);
    if (!by || keys_.at(study::run_key(view.begun())) != id) {
      ++trial;
      continue;
    }
    LANISTA_TRY(end_implied(id, *by));
    trial = active_.begin();
  }
  return {};
}

Result<void> StudyEngine::end_implied(TrialId id, const strategy::Implications::Implied& by) {
  call_off(id);
  study::Outcome outcome{
      OutcomeKind::kImplied, "implied by trial " + std::to_string(by.by.value) + " (" + by.rule + ")", {}, "", {}};
  outcome.implied_by = by.by;
  outcome.rule = by.rule;
  return conclude_alone(id, std::move(outcome));
}

Result<void> StudyEngine::price(strategy::TrialGroup& group) {
  const study::StudyConfig& config = state_.view.config;
  if (config.implied.empty() || config.strategy.order == study::kAsGiven) return {};
  for (const strategy::Member& member : group.members) {
    double cost = 0;
    if (const auto* fresh = std::get_if<strategy::NewTrial>(&member)) {
      LANISTA_ASSIGN(const Costed built, build(fresh->proposal));
      cost = logical_epoch_of(fresh->proposal, built) * static_cast<double>(fresh->proposal.budget);
    } else if (const auto* resumed = std::get_if<strategy::ResumeTrial>(&member)) {
      const auto open = state_.open.find(resumed->trial);
      const std::int64_t done = open == state_.open.end() ? 0 : std::ssize(state_.trial(resumed->trial).measurements);
      cost = open == state_.open.end() ? 0 : open->second.logical_epoch * static_cast<double>(resumed->budget - done);
    }
    group.costs.push_back(cost);
  }
  return {};
}

std::size_t StudyEngine::next_in_line(std::size_t first) {
  if (!state_.waiting[first].cost) return first;
  // Whoever begins with another trial's state, or ends one, keeps its place.
  const auto is_free = [](const strategy::Member& member) {
    if (const auto* fresh = std::get_if<strategy::NewTrial>(&member)) return !fresh->proposal.start;
    const auto* resumed = std::get_if<strategy::ResumeTrial>(&member);
    return resumed != nullptr && !resumed->fork;
  };
  std::vector<strategy::Implications::InLine> line;
  for (std::size_t i = first; i < state_.waiting.size(); ++i) {
    StudyState::Waiting& waiting = state_.waiting[i];
    if (waiting.group != state_.waiting[first].group || !waiting.cost || !is_free(waiting.member)) break;
    if (!can_take_up(waiting.member)) break;
    const auto* resumed = std::get_if<strategy::ResumeTrial>(&waiting.member);
    if (!waiting.places) {
      waiting.places = resumed != nullptr
                           ? implications_.places_of(resumed->trial)
                           : implications_.places_of(std::get<strategy::NewTrial>(waiting.member).proposal);
    }
    strategy::Implications::InLine one{&*waiting.places, *waiting.cost, 0, {}};
    one.budget = resumed != nullptr ? resumed->budget : std::get<strategy::NewTrial>(waiting.member).proposal.budget;
    if (resumed != nullptr) one.of = resumed->trial;
    line.push_back(one);
  }
  return line.empty() ? first : first + implications_.next_of(line, state_.view.config.strategy.order);
}

}  // namespace lanista::engine
