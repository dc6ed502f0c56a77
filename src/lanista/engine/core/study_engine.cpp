#include "lanista/engine/core/study_engine.h"

#include <algorithm>

#include "lanista/search/study/timed_steps.h"

namespace lanista::engine {
namespace {

using store::RecordType;

/// The device table of the log; empty if the current devices differ, for example in an ended study.
DeviceTable devices_of(const nlohmann::json& numerics, const Services& services) {
  auto table = decode_device_table(numerics);
  if (!table || table->rows.size() != services.devices.size()) return {};
  return *std::move(table);
}

std::vector<schedule::Machine> machines_of(const Services& services) {
  std::vector<schedule::Machine> machines;
  for (const TrainingDevice& device : services.devices) machines.push_back(device.machine);
  if (machines.size() < 2) machines.assign(1, services.machine);
  return machines;
}

}  // namespace

StudyEngine::StudyEngine(std::string folder, Services services, store::LogWriter log, StudyState state,
                         std::shared_ptr<const mutate::ModelSpace> models, std::unique_ptr<strategy::Strategy> strategy,
                         const std::vector<study::Event>& past)
    : folder_(std::move(folder)),
      services_(std::move(services)),
      files_(services_.fs->confined_to(folder_)),
      log_(std::move(log)),
      state_(std::move(state)),
      models_(std::move(models)),
      strategy_(std::move(strategy)),
      dominance_pruner_(state_.view.config.implied),
      devices_(devices_of(state_.view.numerics, services_)),
      planner_(machines_of(services_)),
      top_k_(top_k_size()),
      checkpoint_refs_(store::CheckpointStore(*files_, folder_)) {
  services_.fs = files_.get();
  for (const study::Event& event : past) {
    strategy_->observe(event);
    run_ahead_limit_.observe(event, *strategy_);
    dominance_pruner_.observe(event);
    optimum_reached_.observe(state_.view, event);
  }
}

void StudyEngine::event(Level level, const std::string& name, nlohmann::json fields) const {
  if (services_.sink) services_.sink->write({services_.clock->unix_time(), level, name, std::move(fields)});
}

Result<RunResult> StudyEngine::run() {
  if (state_.view.end_reason && !extension_) {
    LANISTA_TRY(repair_package());
    return RunResult{RunEnd::kDone, *state_.view.end_reason};
  }
  auto summary = loop();
  if (!summary) {
    abandon_all();
    // Records so far should reach the disk. If that fails too, the first error is reported.
    static_cast<void>(log_.sync());
    event(Level::kError, "study_interrupted", {{"reason", summary.error().text()}});
  }
  return summary;
}

void StudyEngine::abandon_all() {
  for (const auto& [id, trial] : active_) {
    if (trial.started) services_.executor->command(Finish{id, false, true});
  }
}

Result<RunResult> StudyEngine::loop() {
  LANISTA_TRY(begin_attempt());
  LANISTA_TRY(restore_checkpoint_refs());
  LANISTA_TRY(complete_last_event());
  while (true) {
    LANISTA_ASSIGN(const bool has_applied, poll_requests());
    if (has_applied) continue;
    if (active_.empty()) {
      if (state_.paused_trials() == 0) return end_study();
      LANISTA_TRY(finish_paused_trials());
      continue;
    }
    if (!pause_requested_by_.empty()) return pause();
    LANISTA_TRY(send_groups());
    Active& first = active_.at(due_times_.begin()->second);
    if (is_deliverable(first)) {
      LANISTA_TRY(deliver(first));
    } else if (auto report = services_.executor->next(kPollSeconds)) {
      LANISTA_TRY(accept_report(*std::move(report)));
    }
  }
}

Result<void> StudyEngine::send_groups() {
  if (schedule::Regrouping changes = planner_.changes(); !changes.parts.empty()) {
    state_.plan.apply(changes);
    const bool by_changes = state_.schema >= store::kPlansSchema;  // a log keeps its schema
    LANISTA_TRY(
        log_.append_deferred(RecordType::kPlan, by_changes ? plan_body(changes) : plan_body(state_.plan.plan())));
    services_.executor->command(UpdateGroups{std::move(changes), std::exchange(allowed_, {})});
  }
  for (const Allow& allow : std::exchange(allowed_, {})) services_.executor->command(allow);
  return {};
}

Result<void> StudyEngine::accept_report(Report report) {
  if (auto* epoch = std::get_if<EpochReport>(&report)) return accept_epoch(std::move(epoch->measurement));
  if (auto* failure = std::get_if<FailureReport>(&report)) {
    const auto it = active_.find(failure->trial);
    if (it != active_.end()) it->second.failure = std::move(*failure);
  } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
    return record_checkpoint(*saved);
  } else if (auto* finished = std::get_if<FinishedReport>(&report)) {
    const auto it = active_.find(finished->trial);
    if (it != active_.end() && it->second.pending_outcome) {
      it->second.finished = std::move(*finished);
    } else {  // it was cancelled in the meantime
      checkpoint_refs_.hold(finished->weights);
      checkpoint_refs_.release(finished->weights);
    }
  } else if (auto* paused_state = std::get_if<TrialPausedReport>(&report)) {
    if (!paused_state->address.empty()) {
      LANISTA_TRY(
          record_checkpoint({paused_state->trial, paused_state->epoch, paused_state->step, paused_state->address}));
    }
    const auto it = active_.find(paused_state->trial);
    if (it != active_.end() && it->second.pausing) it->second.paused_state = std::move(*paused_state);
  } else if (std::holds_alternative<AllPausedReport>(report)) {
    paused_ = true;
  } else if (auto* span = std::get_if<SpanReport>(&report)) {
    // Seconds of work, as in the view, because the clock also runs between attempts.
    if (state_.timed_steps >= study::kMaxTimedSteps) span->timed = nullptr;
    const double offset = state_.seconds_of_earlier_attempts() - attempt_start_seconds_;
    const study::Span worked{
        span->trial, span->epoch, span->worker, span->began + offset,  span->ended + offset, span->lanes, span->width,
        span->costs, 0,           span->device, std::move(span->timed)};
    LANISTA_TRY(log_.append(RecordType::kSpan, span_body(worked)));
    state_.add_span(worked);
  } else if (const auto* worker = std::get_if<WorkerReport>(&report)) {
    LANISTA_TRY(log_.append(RecordType::kWorker, worker_body(*worker, services_.clock->unix_time())));
    state_.add_worker_report(*worker);
    if (worker->is_dropped) {
      event(Level::kWarning, "worker_dropped",
            {{"worker", worker->worker}, {"host", worker->host}, {"reason", worker->reason}});
    }
  } else if (auto* broken = std::get_if<ExecutorErrorReport>(&report)) {
    return std::move(broken->error);
  }
  return {};
}

Result<void> StudyEngine::accept_epoch(study::Measurement measurement) {
  const auto it = active_.find(measurement.trial);
  if (it == active_.end() || it->second.is_ending_or_pausing()) return {};
  Active& trial = it->second;
  const std::int64_t expected = trial.next + static_cast<std::int64_t>(trial.reports.size());
  if (measurement.epoch < expected) return {};      // a resumed trial repeats its measurements
  if (measurement.epoch > trial.budget) return {};  // a checkpoint of a damaged folder may have more epochs
  if (measurement.epoch > expected) {
    return Error{Code::kInternal,
                 "trial " + std::to_string(trial.id.value) + " reported epoch " + std::to_string(measurement.epoch) +
                     " when epoch " + std::to_string(expected) + " of " + std::to_string(trial.budget) + " was due",
                 ""};
  }
  trial.reports.push_back(std::move(measurement));
  return {};
}

Result<void> StudyEngine::record_checkpoint(const CheckpointReport& report) {
  checkpoint_refs_.hold(report.address);
  const auto open = state_.open.find(report.trial);
  // The trial has ended or paused in the meantime, or the checkpoint has more epochs than are allowed now.
  const bool is_stale =
      open == state_.open.end() || state_.paused(report.trial) || report.epoch > state_.trial(report.trial).budget;
  if (is_stale) {
    checkpoint_refs_.release(report.address);
    return {};
  }
  LANISTA_TRY(
      log_.append(RecordType::kCheckpoint, checkpoint_body({report.trial, report.epoch, report.step, report.address})));
  LANISTA_TRY(log_.sync());
  checkpoint_refs_.release(open->second.checkpoint);
  open->second.checkpoint = report.address;
  return checkpoint_refs_.remove_unreferenced_files();
}

Result<void> StudyEngine::add_costs(study::Measurement& measurement) {
  const study::StudyConfig& config = state_.view.config;
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::any_of(config.goals, [&](const study::Goal& goal) { return goal.metric == name; }) ||
           std::ranges::any_of(config.subject_to, [&](const study::Constraint& constraint) {
             return constraint.is_measured() && std::ranges::find(constraint.names(), name) != constraint.names().end();
           });
  };
  if (!is_wanted("params") && !is_wanted("flops")) return {};
  LANISTA_ASSIGN(const BuiltModel built, build_model(state_.trial(measurement.trial).proposal));
  measurement.metrics["params"] = static_cast<double>(built.cost.parameters);
  measurement.metrics["flops"] = built.cost.forward.flops;
  return {};
}

bool StudyEngine::is_deliverable(const Active& trial) const {
  if (trial.failure && trial.reports.empty()) return true;
  if (trial.pausing) return trial.paused_state.has_value();
  return trial.pending_outcome ? trial.finished.has_value() : !trial.reports.empty();
}

Result<void> StudyEngine::deliver(Active& trial) {
  if (trial.pending_outcome && trial.finished) {
    study::Outcome outcome = *trial.pending_outcome;
    outcome.weights = trial.finished->weights;
    outcome.weights_hash = trial.finished->state_hash;
    LANISTA_TRY(record_outcome_and_prune(trial.id, std::move(outcome)));
    return fill_slots();
  }
  if (trial.pausing && trial.paused_state) {
    LANISTA_TRY(record_paused(trial));
    return fill_slots();
  }
  if (!trial.reports.empty()) {
    study::Measured event{std::move(trial.reports.front())};
    trial.reports.pop_front();
    LANISTA_TRY(add_costs(event.measurement));
    LANISTA_TRY(log_.append(RecordType::kMeasurement, study::measurement_json(event.measurement)));
    state_.measure(event.measurement);
    announce(event);
    LANISTA_TRY(apply_verdict(trial));
    return strategy_waits_ ? fill_slots() : Result<void>();
  }
  state_.now = state_.due(trial.id, trial.next);
  const std::string reason = trial.failure->reason;
  LANISTA_TRY(record_outcome_and_prune(trial.id, {study::OutcomeKind::kFailed, reason, {}, "", {}}));
  return fill_slots();
}

}  // namespace lanista::engine
