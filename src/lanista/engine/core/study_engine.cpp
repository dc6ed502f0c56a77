#include "lanista/engine/core/study_engine.h"

#include <utility>

#include "lanista/engine/core/study_limits.h"
#include "lanista/engine/core/winner_export.h"

namespace lanista::engine {

using store::RecordType;

StudyEngine::StudyEngine(std::string folder, Services services, store::LogWriter log, StudyState state,
                         std::shared_ptr<const mutate::ModelSpace> models, std::unique_ptr<search::Strategy> strategy,
                         const std::vector<study::Event>& past)
    : study_(std::move(folder), std::move(services), std::move(log), std::move(state), std::move(models)),
      search_(study_, std::move(strategy), past),
      active_(study_.state),
      kept_(study_),
      zoo_(study_),
      launcher_(study_, search_, active_),
      ender_(study_, search_, active_, launcher_, kept_, zoo_),
      slots_(study_, search_, active_, launcher_, kept_, zoo_, ender_),
      delivery_(study_, search_, active_, launcher_, kept_, ender_, slots_),
      requests_(study_, active_, ender_, slots_) {}

Engine::Extension StudyEngine::suggested_extension() const {
  return engine::suggested_extension(study_.state, *study_.services.data);
}

Result<RunResult> StudyEngine::run() {
  const std::optional<std::string>& end_reason = study_.state.view.end_reason;
  if (end_reason && !requests_.has_extension()) {
    LANISTA_TRY(WinnerExport(study_, kept_).repair_package());
    return RunResult{RunEnd::kDone, *end_reason};
  }
  auto summary = loop();
  if (!summary) {
    abandon_all();
    // Records so far should reach the disk. If that fails too, the first error is reported.
    static_cast<void>(study_.log.sync());
    study_.event(Level::kError, "study_interrupted", {{"reason", summary.error().text()}});
  }
  return summary;
}

void StudyEngine::abandon_all() {
  for (const auto& [id, trial] : active_.trials()) launcher_.abandon(trial);
}

Result<RunResult> StudyEngine::loop() {
  LANISTA_TRY(requests_.begin_attempt());
  zoo_.open();
  LANISTA_TRY(restore_kept_states());
  LANISTA_TRY(complete_last_event());
  ReportReceiver reports(study_, active_, kept_);
  while (true) {
    LANISTA_ASSIGN(const bool has_applied, requests_.poll());
    if (has_applied) continue;
    if (active_.size() == 0) {
      if (study_.state.paused_trials() == 0) return end_study();
      LANISTA_TRY(ender_.stop_all_paused(slots_.end_reason()));
      continue;
    }
    if (!requests_.pause_requested_by().empty()) return pause(reports);
    LANISTA_TRY(step(reports));
  }
}

Result<void> StudyEngine::step(ReportReceiver& reports) {
  LANISTA_TRY(launcher_.send_groups());
  ActiveTrial& first = active_.first_due();
  if (first.is_deliverable()) return delivery_.deliver(first);
  auto report = study_.services.executor->next(kPollSeconds);
  return report ? reports.accept(*std::move(report)) : Result<void>();
}

Result<RunResult> StudyEngine::pause(ReportReceiver& reports) {
  const Services& services = study_.services;
  const std::string& source = requests_.pause_requested_by();
  if (source == "signal") {
    LANISTA_TRY(study_.log.append(
        RecordType::kControl, control_body({.request = "pause", .time = services.clock->unix_time(), .by = source})));
  }
  services.executor->command(PauseAll{});
  while (!reports.all_paused()) {
    auto report = services.executor->next(kPollSeconds);
    if (services.observer.on_idle) services.observer.on_idle(study_.state.view);
    // Undelivered measurements are in the checkpoints.
    if (report) LANISTA_TRY(reports.accept(*std::move(report)));
  }
  study_.state.set_worked_seconds(study_.attempt_seconds());
  LANISTA_TRY(study_.log.append(RecordType::kAttempt, attempt_worked_body("paused", study_.attempt_seconds())));
  LANISTA_TRY(study_.log.sync());
  LANISTA_TRY(study_.checkpoints.remove_unreferenced_files());
  save_study_timings();
  return RunResult{RunEnd::kPaused, source};
}

Result<RunResult> StudyEngine::end_study() {
  StudyState& state = study_.state;
  const bool stopped = state.pending_end_reason == "stopped by the user";
  const std::string reason = !state.pending_end_reason.empty()     ? state.pending_end_reason
                             : !state.finish_paused_reason.empty() ? state.finish_paused_reason
                                                                   : slots_.end_reason();
  // The results that determine the winner are on disk before the winner is announced.
  LANISTA_TRY(study_.log.sync());
  LANISTA_ASSIGN(Winner winner, WinnerExport(study_, kept_).choose_and_write());
  const double seconds = study_.attempt_seconds();
  state.set_worked_seconds(seconds);
  LANISTA_TRY(study_.log.append(RecordType::kAttempt, attempt_worked_body("worked", seconds)));
  LANISTA_TRY(
      study_.log.append(RecordType::kStudyEnd, study_end_body(reason, winner.trial, winner.test, winner.ensemble)));
  LANISTA_TRY(study_.log.sync());
  LANISTA_TRY(study_.checkpoints.remove_unreferenced_files());
  zoo_.release();
  save_study_timings();
  state.end_study(reason, winner.trial, std::move(winner.test), std::move(winner.ensemble));
  return RunResult{stopped ? RunEnd::kStoppedByUser : RunEnd::kDone, reason};
}

// A failure here must not end a study, so it becomes a warning.
void StudyEngine::save_study_timings() {
  const Services& services = study_.services;
  const auto done =
      save_timings(study_.state.view, *services.data, study_.models.ops(), services.profiles, *services.fs);
  if (!done) study_.event(Level::kWarning, "profiles", {{"reason", done.error().text()}});
}

}  // namespace lanista::engine
