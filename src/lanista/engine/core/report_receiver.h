#pragma once

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/study_context.h"

namespace lanista::engine {

/// Receives the executor's reports. Reports of a trial wait with the running trial for their delivery in logical order.
/// Checkpoints, spans and workers are logged at once. Not thread-safe.
class ReportReceiver {
 public:
  /// Reports go to the trials in `active`, checkpoints to `kept`. All arguments outlive this.
  ReportReceiver(StudyContext& study, ActiveTrials& active, KeptStates& kept)
      : study_(study), active_(active), kept_(kept) {}

  /// Receives one report. A measurement, failure, end or pause of a trial that no longer runs is dropped, and its file
  /// is released. Repeated measurements, and those after the budget, are dropped too. Errors: the error of an
  /// ExecutorErrorReport, kInternal (a trial leaves out an epoch), those of the log and of the file system.
  Result<void> accept(Report report);
  /// True if the executor has reported that all trials are paused.
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
