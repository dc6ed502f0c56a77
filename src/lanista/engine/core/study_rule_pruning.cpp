// Pruning rules, and the order in which group members start.
#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lanista/engine/core/study_engine.h"

namespace lanista::engine {

using study::OutcomeKind;

std::optional<strategy::DominancePruner::PruningReason> StudyEngine::pruning_reason_of(TrialId id,
                                                                                       std::int64_t budget) const {
  const std::vector<study::PruningRule>& rules = state_.view.config.implied;
  if (rules.empty()) return std::nullopt;
  if (const auto by = dominance_pruner_.of(id, budget); by || !study::has_rung_rule(rules)) return by;
  // The promoted trials are known, and this trial cannot win by a further measurement.
  const auto by = strategy_->verdict(id).closed_early_by;
  if (!by || !optimum_reached_.any_before(state_.trial(id))) return std::nullopt;
  return strategy::DominancePruner::PruningReason{*by, std::string(study::kWhenRungDecided)};
}

Result<void> StudyEngine::end_pruned_by_rule() {
  if (state_.view.config.implied.empty() || !state_.pending_end_reason.empty() || !state_.finish_paused_reason.empty())
    return {};
  for (auto trial = active_.begin(); trial != active_.end();) {
    const TrialId id = trial->first;
    const TrialView& view = state_.trial(id);
    const OpenTrial& open = state_.open.at(id);
    // A trial with a verdict keeps it. A duplicate or a cancelled trial ends as such.
    const bool has_verdict =
        open.verdict || (!view.measurements.empty() && view.measurements.back().epoch >= view.budget);
    const auto by = has_verdict || open.cancel_asked ? std::nullopt : pruning_reason_of(id, view.budget);
    if (!by || keys_.at(study::run_key(view.begun())) != id) {
      ++trial;
      continue;
    }
    LANISTA_TRY(end_pruned_by_rule(id, *by));
    trial = active_.begin();
  }
  return {};
}

Result<void> StudyEngine::end_pruned_by_rule(TrialId id, const strategy::DominancePruner::PruningReason& by) {
  cancel_running(id);
  study::Outcome outcome{
      OutcomeKind::kPrunedByRule, "implied by trial " + std::to_string(by.by.value) + " (" + by.rule + ")", {}, "", {}};
  outcome.pruned_by = by.by;
  outcome.rule = by.rule;
  return record_outcome(id, std::move(outcome));
}

Result<void> StudyEngine::add_group_costs(strategy::TrialGroup& group) {
  const study::StudyConfig& config = state_.view.config;
  if (config.implied.empty() || config.strategy.order == study::kAsGiven) return {};
  for (const strategy::Member& member : group.members) {
    double cost = 0;
    if (const auto* fresh = std::get_if<strategy::NewTrial>(&member)) {
      LANISTA_ASSIGN(const BuiltModel built, build_model(fresh->proposal));
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

std::size_t StudyEngine::next_waiting_index(std::size_t first) {
  if (!state_.waiting_members[first].cost) return first;
  // A member that starts from another trial, or ends one, keeps its position.
  const auto is_free = [](const strategy::Member& member) {
    if (const auto* fresh = std::get_if<strategy::NewTrial>(&member)) return !fresh->proposal.start;
    const auto* resumed = std::get_if<strategy::ResumeTrial>(&member);
    return resumed != nullptr && !resumed->fork;
  };
  std::vector<strategy::DominancePruner::QueueEntry> line;
  for (std::size_t i = first; i < state_.waiting_members.size(); ++i) {
    StudyState::WaitingMember& waiting = state_.waiting_members[i];
    if (waiting.group != state_.waiting_members[first].group || !waiting.cost || !is_free(waiting.member)) break;
    if (!can_carry_out(waiting.member)) break;
    const auto* resumed = std::get_if<strategy::ResumeTrial>(&waiting.member);
    if (!waiting.line_positions) {
      waiting.line_positions =
          resumed != nullptr ? dominance_pruner_.positions_of(resumed->trial)
                             : dominance_pruner_.positions_of(std::get<strategy::NewTrial>(waiting.member).proposal);
    }
    strategy::DominancePruner::QueueEntry one{&*waiting.line_positions, *waiting.cost, 0, {}};
    one.budget = resumed != nullptr ? resumed->budget : std::get<strategy::NewTrial>(waiting.member).proposal.budget;
    if (resumed != nullptr) one.of = resumed->trial;
    line.push_back(one);
  }
  return line.empty() ? first : first + dominance_pruner_.next_index(line, state_.view.config.strategy.order);
}

}  // namespace lanista::engine
