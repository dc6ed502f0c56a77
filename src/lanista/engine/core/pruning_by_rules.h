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

/// The pruning rules of a study: which trials they prune, and in which order the members of a trial group start so that
/// the rules prune most. A fold over events. Not thread-safe.
class PruningByRules {
 public:
  /// Why a rule prunes a trial: the trial with the result, and the rule.
  using Reason = strategy::DominancePruner::PruningReason;

  /// `strategy` gives verdicts on rungs that are closed early; it must outlive this.
  PruningByRules(StudyContext& study, const strategy::Strategy& strategy)
      : study_(study), strategy_(strategy), dominance_pruner_(study.state.view.config.implied) {}

  /// Adds an event, which the state and the strategy already include.
  void observe(const study::Event& event);
  /// Text of the rules that a result has contradicted. They prune no more.
  std::vector<std::string> contradicted_rules() const { return dominance_pruner_.contradicted_rules(); }

  /// Why a rule prunes a trial that would train through epoch `budget`; nullopt: none does.
  std::optional<Reason> reason_to_prune(TrialId id, std::int64_t budget) const;
  /// Adds the costs of its members to a group, if the study orders groups by cost. Errors: those of TrialModels::build.
  Result<void> add_group_costs(strategy::TrialGroup& group) const;
  /// Index of the waiting member to start next. `first` is the first one for which `can_start` holds.
  std::size_t next_waiting_index(std::size_t first,
                                 const std::function<bool(const strategy::Member&)>& can_start) const;

 private:
  StudyContext& study_;
  const strategy::Strategy& strategy_;
  strategy::DominancePruner dominance_pruner_;
  OptimumReached optimum_reached_;
};

}  // namespace lanista::engine
