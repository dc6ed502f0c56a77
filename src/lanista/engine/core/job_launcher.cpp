#include "lanista/engine/core/job_launcher.h"

#include <utility>

#include "lanista/engine/core/warm_start.h"
#include "lanista/search/study/program_key.h"

namespace lanista::engine {

Result<void> JobLauncher::start(ActiveTrial& trial, const std::string& checkpoint) {
  LANISTA_ASSIGN(BuiltModel built, study_.models.build(study_.state.trial(trial.id).proposal));
  return start(trial, checkpoint, std::move(built));
}

Result<Job> JobLauncher::make_whole_job(const ActiveTrial& trial, graph::Graph model) const {
  const StudyState& state = study_.state;
  LANISTA_ASSIGN(Job job, make_job(state.view.config, *study_.services.data, state.trial(trial.id), std::move(model)));
  job.frozen = study_.frozen();
  LANISTA_TRY(plan_start(job, state.view, study_.models.ops()));
  if (job.start && job.start->address.empty()) {
    return Error{Code::kNotFound, "nothing is kept of " + study::start_text(*job.start) + ", to start from", ""};
  }
  return job;
}

Result<void> JobLauncher::start_job(ActiveTrial& trial, const std::string& checkpoint, Job& job) {
  const OpenTrial& open = study_.state.open.at(trial.id);
  job.logical_epoch = open.logical_epoch;
  job.logical_start = study_.state.due(trial.id, 0);  // as if it had never paused
  job.priority = open.priority;
  job.checkpoint = checkpoint;
  trial.device = devices_.device_for(job);
  if (!study_.services.devices.empty()) job.device = study_.services.devices[trial.device].name;
  auto started = study_.services.executor->start(job);
  const bool bad_file =
      !started && (started.error().code == Code::kDataLoss || started.error().code == Code::kNotFound);
  if (!bad_file || checkpoint.empty()) return started;
  study_.event(Level::kWarning, "checkpoint_lost", {{"trial", trial.id.value}, {"reason", started.error().text()}});
  job.checkpoint.clear();
  return study_.services.executor->start(job);
}

Result<void> JobLauncher::start(ActiveTrial& trial, const std::string& checkpoint, BuiltModel built) {
  auto job = make_whole_job(trial, std::move(built.model));
  const Result<void> started = job ? start_job(trial, checkpoint, *job) : Result<void>(job.error());
  if (!started) {
    trial.waiting.failure = FailureReport{trial.id, trial.next, started.error().text()};
    return {};
  }
  trial.started = true;
  const std::int64_t parameters = study_.state.trial(trial.id).parameters;
  groups_.join({trial.id, study::program_key(built.structure, job->recipe), study::state_bytes(parameters, job->recipe),
                study::best_weights_bytes(parameters, job->recipe, job->keep)},
               trial.device);
  allow(trial);
  return {};
}

Result<void> JobLauncher::start_to_finish(ActiveTrial& trial) {
  LANISTA_TRY(start(trial, study_.state.open.at(trial.id).checkpoint));
  return send_groups();  // it ends after its allowed epoch, so that must be sent first
}

void JobLauncher::allow(ActiveTrial& trial) {
  const std::int64_t epoch = trial.is_ending_or_pausing() ? trial.next : search_.allowed_epoch(trial.id);
  if (epoch <= trial.allowed) return;
  trial.allowed = epoch;
  groups_.allow({trial.id, epoch});
}

void JobLauncher::abandon(const ActiveTrial& trial) const {
  if (trial.started) study_.services.executor->command(Finish{trial.id, false, true});
}

void JobLauncher::remove(TrialId id) {
  const ActiveTrial* trial = active_.find(id);
  if (trial == nullptr) return;
  if (trial->started) groups_.leave(id);
  active_.leave(id);
}

}  // namespace lanista::engine
