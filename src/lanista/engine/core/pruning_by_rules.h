#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/optimum_reached.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/search/sampler/dominance_pruner.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::engine {

/// Applies the pruning rules of a study: it finds the trials that they prune. It also orders the members of a trial
/// group so that the rules prune most. A fold over events. Not thread-safe.
class PruningByRules {
 public:
  /// Why a rule prunes a trial: the trial with the result that implies it, and the name of the rule.
  using Reason = search::DominancePruner::PruningReason;

  /// No event is observed yet. `strategy` gives verdicts on rungs that are closed early. Both arguments outlive this.
  PruningByRules(StudyContext& study, const search::Strategy& strategy)
      : study_(study), strategy_(strategy), dominance_pruner_(study.state.view.config.implied) {}

  /// Adds an event, which the state and the strategy already include.
  void observe(const study::Event& event);
  /// Texts of the rules that a result has contradicted, for the user. They prune no more trials. Empty: none.
  std::vector<std::string> contradicted_rules() const { return dominance_pruner_.contradicted_rules(); }

  /// Why a rule prunes a trial that would train through epoch `budget`; nullopt: no rule prunes it.
  std::optional<Reason> reason_to_prune(TrialId id, std::int64_t budget) const;
  /// Sets the costs of a group's members (logical time of their epochs), if the study has rules and orders groups by
  /// cost. Otherwise the group stays unchanged. Errors: those of TrialModels::build.
  Result<void> add_group_costs(search::TrialGroup& group) const;
  /// Index, in StudyState::waiting_members, of the member to start next. `first` is the index of the first member for
  /// which `can_start` holds. Only the members directly after it in its group that can start and may move compete with
  /// it. The result is `first` if its group keeps its order. Fills WaitingMember::line_positions of these members.
  std::size_t next_waiting_index(std::size_t first, const std::function<bool(const search::Member&)>& can_start) const;

 private:
  StudyContext& study_;
  const search::Strategy& strategy_;
  search::DominancePruner dominance_pruner_;
  OptimumReached optimum_reached_;
};

}  // namespace lanista::engine
