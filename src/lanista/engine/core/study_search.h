#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/last_rung.h"
#include "lanista/engine/core/pruning_by_rules.h"
#include "lanista/engine/core/run_ahead_limit.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/search/sampler/strategy.h"

namespace lanista::engine {

/// Finds, for each trial, the first trial with the same duplicate key (study::run_key). A fold over events. Not
/// thread-safe.
class DuplicateIndex {
 public:
  /// Adds a new trial (study::Proposed). Other events have no effect.
  void observe(const study::Event& event);
  /// The first trial with the duplicate key of `trial`, which must have been proposed; `trial` itself if it is no
  /// duplicate.
  TrialId first_like(TrialId trial) const { return first_trials_.at(trial.value - 1); }

 private:
  std::unordered_map<Digest, TrialId> first_by_key_;  ///< Only looked up.
  std::vector<TrialId> first_trials_;                 ///< By trial id - 1.
};

/// The strategy of a study, and what follows from its events alone: run-ahead limits, pruning by rules and duplicates.
/// Every event goes through it. Not thread-safe.
class StudySearch {
 public:
  /// `past` holds the events of the log so far, in order; the strategy has observed none of them, so all are observed
  /// now. `study` outlives this.
  StudySearch(StudyContext& study, std::unique_ptr<search::Strategy> strategy, const std::vector<study::Event>& past);

  /// Gives an event, which the state already includes, to the strategy, to the folds and to the observer of the
  /// services.
  void announce(const study::Event& event);

  /// The strategy's answer for free slots. Errors: those of Strategy::suggest.
  Result<search::Suggestion> suggest(const search::Capacity& capacity) const { return strategy_->suggest(capacity); }
  /// The strategy's verdict on a trial after its last event.
  search::TrialVerdict verdict(TrialId trial) const { return strategy_->verdict(trial); }
  /// The last epoch that a running trial may train before its next verdict.
  std::int64_t allowed_epoch(TrialId trial) const { return run_ahead_limit_.allowed_epoch(trial); }
  /// True if no verdict was due at the trial's last measurement, so that its worker may already have trained later
  /// epochs.
  bool ran_ahead(TrialId trial) const { return run_ahead_limit_.ran_ahead(trial); }
  /// The first trial with the same duplicate key; the trial itself if it is no duplicate.
  TrialId first_like(TrialId trial) const { return duplicates_.first_like(trial); }
  /// The pruning rules of the study.
  const PruningByRules& rules() const { return rules_; }
  /// The trial that trains to the end if no other does.
  const LastRung& last_rung() const { return last_rung_; }

 private:
  /// Gives an event to the strategy and to the folds.
  void observe(const study::Event& event);

  StudyContext& study_;
  std::unique_ptr<search::Strategy> strategy_;
  RunAheadLimit run_ahead_limit_;
  PruningByRules rules_;
  DuplicateIndex duplicates_;
  LastRung last_rung_;
};

}  // namespace lanista::engine
