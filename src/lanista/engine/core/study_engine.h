#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/event_delivery.h"
#include "lanista/engine/core/job_launcher.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/report_receiver.h"
#include "lanista/engine/core/request_handler.h"
#include "lanista/engine/core/slot_filler.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_search.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/engine/core/trial_ender.h"
#include "lanista/engine/core/zoo_starts.h"

namespace lanista::engine {

/// The engine over one log and one executor. Single-threaded; workers run behind the executor.
///
/// A study is a sequence of *events*, one at a time:
///  - a delivery: the next measurement or failure of the running trial with the earliest end of its next epoch in
///    logical time (then the lowest id). Of a trial that is ending or pausing it is its end or pause. The engine waits
///    for this report; reports of other trials wait in a queue.
///  - an applied request: stop, stop-trial, guard, extension. Its position in logical order is that of its record in
///    the log. The time of the request has no influence.
/// The records that an event causes come right after it in the log, before the next event. They are a verdict, an
/// outcome, a pause, and the strategy's answers for free slots (`fill_slots`). At the end of the study they are the
/// outcomes of all open trials. Two facts follow:
///  - If a log ends anywhere, only its last event can lack records. `complete_last_event` appends them.
///  - Everything without a record follows from the state. A trial with a verdict or a full budget waits for its end or
///    pause. `RunAheadLimit` folds how far others may train. `fill_slots` starts the waiting members of recorded
///    groups; the strategy is a pure function of the events, so asking it again adds nothing.
///
/// A paused trial is in the log, the store and the strategy only; it needs no slot, worker or memory. When it resumes,
/// its logical clock continues at the time of that record. So pauses and kills leave no trace: events, and with them
/// the canonical export, are a function of the configuration, the data, and the requests with their positions.
class StudyEngine final : public Engine {
 public:
  /// Takes over the log and its state. `past` holds the events from which `state` was folded, in order; the strategy
  /// has observed none of them.
  StudyEngine(std::string folder, Services services, store::LogWriter log, StudyState state,
              std::shared_ptr<const mutate::ModelSpace> models, std::unique_ptr<search::Strategy> strategy,
              const std::vector<study::Event>& past = {});

  const StudyView& view() const override { return study_.state.view; }
  Extension suggested_extension() const override;
  Result<RunResult> run() override;
  /// Stores an extension, which run() applies as the next request. An empty one has no effect.
  void extend(const Extension& extension) { requests_.extend(extension); }

 private:
  // study_engine.cpp: the loop.
  Result<RunResult> loop();
  /// Delivers the next event if its report has arrived, else receives a report.
  Result<void> step(ReportReceiver& reports);
  /// Pauses all trials and the study.
  Result<RunResult> pause(ReportReceiver& reports);
  /// Writes the winner's package and ends the study.
  Result<RunResult> end_study();
  /// Ends all jobs without a report.
  void abandon_all();
  /// Saves the times of training steps for later plans.
  void save_study_timings();

  // study_resume.cpp: restores what has no record.
  /// Holds the states that open trials and the best trials need.
  Result<void> restore_kept_states();
  /// Appends the records that the last event of the log lacks, and starts all open trials.
  Result<void> complete_last_event();
  /// Completes the event of one running trial and starts it.
  Result<void> complete_last_event(TrialId trial, bool needs_verdict_again);
  /// Whether the consequences of a running trial's last measurement must be computed again.
  bool needs_verdict(TrialId trial) const;

  StudyContext study_;
  StudySearch search_;
  ActiveTrials active_;
  KeptStates kept_;
  ZooStarts zoo_;
  JobLauncher launcher_;
  TrialEnder ender_;
  SlotFiller slots_;
  EventDelivery delivery_;
  RequestHandler requests_;
};

}  // namespace lanista::engine
