#pragma once

#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/job_launcher.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/slot_filler.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_search.h"
#include "lanista/engine/core/trial_ender.h"

namespace lanista::engine {

/// Delivers the next event of a running trial to the log and the strategy. It then carries out what follows: verdict,
/// pause, end, and the filling of free slots. Not thread-safe.
class EventDelivery {
 public:
  /// Delivers events of the trials in `active` to the log of `study` and the strategy of `search`. All arguments
  /// outlive this.
  EventDelivery(StudyContext& study, StudySearch& search, ActiveTrials& active, JobLauncher& launcher,
                const KeptStates& kept, TrialEnder& ender, SlotFiller& slots)
      : study_(study),
        search_(search),
        active_(active),
        launcher_(launcher),
        kept_(kept),
        ender_(ender),
        slots_(slots) {}

  /// Records and applies the next event of a trial: measurement, failure, end or pause. is_deliverable() must be true.
  /// Errors: those of the log, the strategy and the model space.
  Result<void> deliver(ActiveTrial& trial);
  /// Continues, pauses or ends a trial after its last recorded measurement; a diverged trial fails. A recorded verdict
  /// is used if there is one; a new verdict except `continue` is recorded. Pause and end wait for the executor's
  /// report. A resumed study calls it for verdicts that were not applied. Errors: those of the log, the strategy and
  /// the model space.
  Result<void> apply_verdict(ActiveTrial& trial);

 private:
  /// Records the next measurement of a trial and applies its verdict.
  Result<void> deliver_measurement(ActiveTrial& trial);
  /// Adds params and flops of the model as metrics if a goal or a constraint names them.
  Result<void> add_costs(study::Measurement& measurement);
  /// The verdict for a trial after a measurement: the recorded one, or a new one, which is recorded unless it is
  /// kContinue.
  Result<study::Verdict> verdict_after(const ActiveTrial& trial, const study::Measurement& measurement);
  /// Ends a trial after its last measurement: requests its end from the executor, or records it if its weights are
  /// gone.
  Result<void> finish(ActiveTrial& trial, study::OutcomeKind kind, const std::string& reason);
  /// Pauses a trial after its last measurement: requests its pause from the executor, or records it if its state is
  /// gone.
  Result<void> pause(ActiveTrial& trial);
  /// Records the pause of a trial for which the report has arrived.
  Result<void> record_paused(ActiveTrial& trial);
  /// Abandons a trial and records its outcome, without weights.
  Result<void> end_without_weights(const ActiveTrial& trial, study::Outcome outcome);

  StudyContext& study_;
  StudySearch& search_;
  ActiveTrials& active_;
  JobLauncher& launcher_;
  const KeptStates& kept_;
  TrialEnder& ender_;
  SlotFiller& slots_;
};

}  // namespace lanista::engine
