#pragma once

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/study_context.h"

namespace lanista::engine {

/// Receives the executor's reports: gives those of trials to the running trials, where they wait for their delivery,
/// and records checkpoints, spans and workers at once. Not thread-safe.
class ReportReceiver {
 public:
  /// Reports go to the trials in `active`, checkpoints to `kept`.
  ReportReceiver(StudyContext& study, ActiveTrials& active, KeptStates& kept)
      : study_(study), active_(active), kept_(kept) {}

  /// Receives one report. A report of a trial that does not run any more is dropped. Errors: those of the executor,
  /// kInternal (a trial leaves out an epoch), those of the log.
  Result<void> accept(Report report);
  /// Whether the executor has paused all trials.
  bool all_paused() const { return all_paused_; }

 private:
  Result<void> receive(EpochReport report);
  Result<void> receive(FailureReport report);
  Result<void> receive(const CheckpointReport& report);
  Result<void> receive(FinishedReport report);
  Result<void> receive(TrialPausedReport report);
  Result<void> receive(const AllPausedReport& report);
  Result<void> receive(SpanReport report);
  Result<void> receive(ExecutorErrorReport report);
  Result<void> receive(const WorkerReport& report);

  StudyContext& study_;
  ActiveTrials& active_;
  KeptStates& kept_;
  bool all_paused_ = false;
};

}  // namespace lanista::engine
