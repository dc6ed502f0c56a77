#include "lanista/engine/core/pruning_by_rules.h"

#include <algorithm>
#include <variant>

#include "lanista/engine/core/trial_cost.h"

namespace lanista::engine {
namespace {

/// Whether a member of an ordered group may move. One that starts from another trial, or ends one, keeps its position.
bool may_move(const search::Member& member) {
  if (const auto* fresh = std::get_if<search::NewTrial>(&member)) return !fresh->proposal.start;
  const auto* resumed = std::get_if<search::ResumeTrial>(&member);
  return resumed != nullptr && !resumed->fork;
}

}  // namespace

void PruningByRules::observe(const study::Event& event) {
  dominance_pruner_.observe(event);
  optimum_reached_.observe(study_.state.view, event);
}

std::optional<PruningByRules::Reason> PruningByRules::reason_to_prune(TrialId id, std::int64_t budget) const {
  const std::vector<study::PruningRule>& rules = study_.state.view.config.implied;
  if (rules.empty()) return std::nullopt;
  if (const auto by = dominance_pruner_.of(id, budget); by || !study::has_rung_rule(rules)) return by;
  // The promoted trials are known, and this trial cannot win by a further measurement.
  const auto by = strategy_.verdict(id).closed_early_by;
  if (!by || !optimum_reached_.any_before(study_.state.trial(id))) return std::nullopt;
  return Reason{*by, std::string(study::kWhenRungDecided)};
}

Result<void> PruningByRules::add_group_costs(search::TrialGroup& group) const {
  const StudyState& state = study_.state;
  const study::StudyConfig& config = state.view.config;
  if (config.implied.empty() || config.strategy.order == study::kAsGiven) return {};
  for (const search::Member& member : group.members) {
    double cost = 0;
    if (const auto* fresh = std::get_if<search::NewTrial>(&member)) {
      const study::Proposal& proposal = fresh->proposal;
      LANISTA_ASSIGN(const BuiltModel built, study_.models.build(proposal));
      cost = logical_epoch_of(config, *study_.services.data, proposal, built.cost.forward.flops) *
             static_cast<double>(proposal.budget);
    } else if (const auto* resumed = std::get_if<search::ResumeTrial>(&member)) {
      const auto open = state.open.find(resumed->trial);
      const std::int64_t done = open == state.open.end() ? 0 : std::ssize(state.trial(resumed->trial).measurements);
      cost = open == state.open.end() ? 0 : open->second.logical_epoch * static_cast<double>(resumed->budget - done);
    }
    group.costs.push_back(cost);
  }
  return {};
}

std::size_t PruningByRules::next_waiting_index(std::size_t first,
                                               const std::function<bool(const search::Member&)>& can_start) const {
  std::deque<StudyState::WaitingMember>& waiting_members = study_.state.waiting_members;
  if (!waiting_members[first].cost) return first;
  std::vector<search::DominancePruner::QueueEntry> line;
  for (std::size_t i = first; i < waiting_members.size(); ++i) {
    StudyState::WaitingMember& waiting = waiting_members[i];
    if (waiting.group != waiting_members[first].group || !waiting.cost || !may_move(waiting.member)) break;
    if (!can_start(waiting.member)) break;
    const auto* resumed = std::get_if<search::ResumeTrial>(&waiting.member);
    if (!waiting.line_positions) {
      waiting.line_positions =
          resumed != nullptr ? dominance_pruner_.positions_of(resumed->trial)
                             : dominance_pruner_.positions_of(std::get<search::NewTrial>(waiting.member).proposal);
    }
    search::DominancePruner::QueueEntry one{&*waiting.line_positions, *waiting.cost, 0, {}};
    one.budget = resumed != nullptr ? resumed->budget : std::get<search::NewTrial>(waiting.member).proposal.budget;
    if (resumed != nullptr) one.of = resumed->trial;
    line.push_back(one);
  }
  return line.empty() ? first : first + dominance_pruner_.next_index(line, study_.state.view.config.strategy.order);
}

}  // namespace lanista::engine
