#include "lanista/engine/core/study_engine.h"

#include <algorithm>

#include "lanista/search/study/timed_steps.h"

namespace lanista::engine {
namespace {

using store::RecordType;

/// As the log has it; nothing where that is not what there is (a study that has ended, say, is mended by whoever can).
DeviceTable devices_of(const nlohmann::json& numerics, const Services& services) {
  auto table = devices_in(numerics);
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
      implications_(state_.view.config.implied),
      devices_(devices_of(state_.view.numerics, services_)),
      planner_(machines_of(services_)),
      podium_(podium_size()),
      shelf_(store::CheckpointStore(*files_, folder_)) {
  services_.fs = files_.get();
  for (const study::Event& event : past) {
    strategy_->observe(event);
    horizon_.observe(event, *strategy_);
    implications_.observe(event);
    perfect_.observe(state_.view, event);
  }
}

void StudyEngine::event(Level level, const std::string& name, nlohmann::json fields) const {
  if (services_.sink) services_.sink->write({services_.clock->unix_time(), level, name, std::move(fields)});
}

Result<Summary> StudyEngine::run() {
  if (state_.view.end_reason && !extension_) {
    LANISTA_TRY(mend_package());
    return Summary{End::kDone, *state_.view.end_reason};
  }
  auto summary = loop();
  if (!summary) {
    abandon_all();
    // What is in the log so far should reach the disk; if that fails too, the first error is the one to tell.
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

Result<Summary> StudyEngine::loop() {
  LANISTA_TRY(begin_attempt());
  LANISTA_TRY(restore_shelf());
  LANISTA_TRY(pick_up());
  while (true) {
    LANISTA_ASSIGN(const bool obeyed, poll());
    if (obeyed) continue;
    if (active_.empty()) {
      if (state_.paused_trials() == 0) return end_study();
      LANISTA_TRY(wind_up());
      continue;
    }
    if (!pause_asked_.empty()) return pause();
    LANISTA_TRY(arrange());
    Active& first = active_.at(due_.begin()->second);
    if (ready(first)) {
      LANISTA_TRY(deliver(first));
    } else if (auto report = services_.executor->next(kPollSeconds)) {
      LANISTA_TRY(take(*std::move(report)));
    }
  }
}

Result<void> StudyEngine::arrange() {
  if (schedule::Regrouping changes = planner_.changes(); !changes.parts.empty()) {
    state_.plan.apply(changes);
    const bool by_changes = state_.schema >= store::kPlansSchema;  // a log goes on as it began
    LANISTA_TRY(log_.append_with_next(RecordType::kPlan,
                                      by_changes ? plan_body(changes) : plan_body(state_.plan.plan())));
    services_.executor->command(Arrange{std::move(changes), std::exchange(allowed_, {})});
  }
  for (const Allow& allow : std::exchange(allowed_, {})) services_.executor->command(allow);
  return {};
}

Result<void> StudyEngine::take(Report report) {
  if (auto* epoch = std::get_if<EpochReport>(&report)) return take_epoch(std::move(epoch->measurement));
  if (auto* failure = std::get_if<FailureReport>(&report)) {
    const auto it = active_.find(failure->trial);
    if (it != active_.end()) it->second.failure = std::move(*failure);
  } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
    return note_checkpoint(*saved);
  } else if (auto* finished = std::get_if<FinishedReport>(&report)) {
    const auto it = active_.find(finished->trial);
    if (it != active_.end() && it->second.finishing) {
      it->second.finished = std::move(*finished);
    } else {  // it was cancelled meanwhile
      shelf_.hold(finished->weights);
      shelf_.release(finished->weights);
    }
  } else if (auto* parked = std::get_if<ParkedReport>(&report)) {
    if (!parked->address.empty()) {
      LANISTA_TRY(note_checkpoint({parked->trial, parked->epoch, parked->step, parked->address}));
    }
    const auto it = active_.find(parked->trial);
    if (it != active_.end() && it->second.pausing) it->second.parked = std::move(*parked);
  } else if (std::holds_alternative<PausedReport>(report)) {
    paused_ = true;
  } else if (auto* span = std::get_if<SpanReport>(&report)) {
    // Worked seconds, as in the view: the clock goes on between attempts.
    if (state_.timed_steps >= study::kMostTimedSteps) span->timed = nullptr;
    const double offset = state_.seconds_before() - began_;
    const study::Span worked{
        span->trial, span->epoch, span->worker, span->began + offset,  span->ended + offset, span->lanes, span->width,
        span->costs, 0,           span->device, std::move(span->timed)};
    LANISTA_TRY(log_.append(RecordType::kSpan, span_body(worked)));
    state_.work(worked);
  } else if (const auto* worker = std::get_if<WorkerReport>(&report)) {
    LANISTA_TRY(log_.append(RecordType::kWorker, worker_body(*worker, services_.clock->unix_time())));
    state_.worker(*worker);
    if (worker->was_dropped) {
      event(Level::kWarning, "worker_dropped",
            {{"worker", worker->worker}, {"host", worker->host}, {"reason", worker->reason}});
    }
  } else if (auto* broken = std::get_if<BrokenReport>(&report)) {
    return std::move(broken->error);
  }
  return {};
}

Result<void> StudyEngine::take_epoch(study::Measurement measurement) {
  const auto it = active_.find(measurement.trial);
  if (it == active_.end() || it->second.settled()) return {};
  Active& trial = it->second;
  const std::int64_t expected = trial.next + static_cast<std::int64_t>(trial.reports.size());
  if (measurement.epoch < expected) return {};  // a trial that came back from a checkpoint tells again
  if (measurement.epoch > trial.budget) return {};  // a checkpoint of a damaged folder may be further on
  if (measurement.epoch > expected) {
    return Error{Code::kInternal,
                 "trial " + std::to_string(trial.id.value) + " reported epoch " + std::to_string(measurement.epoch) +
                     " where epoch " + std::to_string(expected) + " of " + std::to_string(trial.budget) + " was due",
                 ""};
  }
  trial.reports.push_back(std::move(measurement));
  return {};
}

Result<void> StudyEngine::note_checkpoint(const CheckpointReport& report) {
  shelf_.hold(report.address);
  const auto open = state_.open.find(report.trial);
  // Of a trial that ended or was paused meanwhile, or that was further on when it was paused than it may go now.
  const bool is_stale =
      open == state_.open.end() || state_.paused(report.trial) || report.epoch > state_.trial(report.trial).budget;
  if (is_stale) {
    shelf_.release(report.address);
    return {};
  }
  LANISTA_TRY(
      log_.append(RecordType::kCheckpoint, checkpoint_body({report.trial, report.epoch, report.step, report.address})));
  LANISTA_TRY(log_.sync());
  shelf_.release(open->second.checkpoint);
  open->second.checkpoint = report.address;
  return shelf_.flush();
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
  LANISTA_ASSIGN(const Costed built, build(state_.trial(measurement.trial).proposal));
  measurement.metrics["params"] = static_cast<double>(built.cost.parameters);
  measurement.metrics["flops"] = built.cost.forward.flops;
  return {};
}

bool StudyEngine::ready(const Active& trial) const {
  if (trial.failure && trial.reports.empty()) return true;
  if (trial.pausing) return trial.parked.has_value();
  return trial.finishing ? trial.finished.has_value() : !trial.reports.empty();
}

Result<void> StudyEngine::deliver(Active& trial) {
  if (trial.finishing && trial.finished) {
    study::Outcome outcome = *trial.finishing;
    outcome.weights = trial.finished->weights;
    outcome.weights_hash = trial.finished->state_hash;
    LANISTA_TRY(conclude(trial.id, std::move(outcome)));
    return fill();
  }
  if (trial.pausing && trial.parked) {
    LANISTA_TRY(note_paused(trial));
    return fill();
  }
  if (!trial.reports.empty()) {
    study::Measured event{std::move(trial.reports.front())};
    trial.reports.pop_front();
    LANISTA_TRY(add_costs(event.measurement));
    LANISTA_TRY(log_.append(RecordType::kMeasurement, study::measurement_json(event.measurement)));
    state_.measure(event.measurement);
    announce(event);
    LANISTA_TRY(settle(trial));
    return told_to_wait_ ? fill() : Result<void>();
  }
  state_.now = state_.due(trial.id, trial.next);
  const std::string reason = trial.failure->reason;
  LANISTA_TRY(conclude(trial.id, {study::OutcomeKind::kFailed, reason, {}, "", {}}));
  return fill();
}

}  // namespace lanista::engine
