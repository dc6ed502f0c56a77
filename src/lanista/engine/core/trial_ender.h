#pragma once

#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/job_launcher.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_search.h"
#include "lanista/engine/core/zoo_starts.h"

namespace lanista::engine {

/// Ends trials: records their outcomes, removes them from the running trials, and then ends the trials that the pruning
/// rules prune. Not thread-safe. Errors of all functions: those of the log and of the strategy.
class TrialEnder {
 public:
  /// Ends trials of `active`. `kept` and `zoo` receive each trial with its outcome. All arguments outlive this.
  TrialEnder(StudyContext& study, StudySearch& search, const ActiveTrials& active, JobLauncher& launcher,
             KeptStates& kept, ZooStarts& zoo)
      : study_(study), search_(search), active_(active), launcher_(launcher), kept_(kept), zoo_(zoo) {}

  /// Gives an open trial its outcome, and ends the trials that a rule prunes because of it.
  Result<void> record_outcome(TrialId id, study::Outcome outcome);
  /// Cancels a running or paused trial. Its state is dropped, and `reason` is recorded.
  Result<void> cancel(TrialId id, const std::string& reason);
  /// Stops a running or paused trial; `reason` is recorded. The selected epoch of a paused trial gives its result. Its
  /// paused state gives its weights if it ranks among the best trials; otherwise it has none. A running trial loses its
  /// weights.
  Result<void> stop(TrialId id, const std::string& reason);
  /// Ends an open trial because of a pruning rule, without further prunings.
  Result<void> end_pruned(TrialId id, const PruningByRules::Reason& by);
  /// Ends all running trials that a rule prunes, in order of their ids, until no rule prunes one. A resumed study ends
  /// them in the same order. Trials with a verdict that is not applied yet, with all epochs of their budget, or with a
  /// recorded stop request stay. While the study ends it has no effect.
  Result<void> end_all_pruned();
  /// Stops all paused trials at the end of the study. `reason` is recorded, unless a reason was recorded before.
  Result<void> stop_all_paused(const std::string& reason);
  /// Ends all trials because the study ends: cancels those that run and stops those that are paused. `reason` becomes
  /// the reason of the end, unless another one is pending.
  Result<void> end_all(const std::string& reason);

 private:
  /// Abandons a running trial; its worker sends no report.
  void abandon(TrialId id);
  /// Gives an open trial its outcome, without pruning by rules.
  Result<void> record_outcome_alone(TrialId id, study::Outcome outcome);

  StudyContext& study_;
  StudySearch& search_;
  const ActiveTrials& active_;
  JobLauncher& launcher_;
  KeptStates& kept_;
  ZooStarts& zoo_;
};

}  // namespace lanista::engine
