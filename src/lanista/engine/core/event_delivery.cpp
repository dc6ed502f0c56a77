#include "lanista/engine/core/event_delivery.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanista::engine {
namespace {

using store::RecordType;
using study::OutcomeKind;

/// Whether a metric is NaN because the rows do not define it, as roc_auc without rows of a class. NaN predictions make
/// the losses NaN too.
bool is_undefined(const study::Measurement& measurement, const std::string& name) {
  const auto is_finite = [&](const char* loss) {
    const auto found = measurement.metrics.find(loss);
    return found != measurement.metrics.end() && std::isfinite(found->second);
  };
  return std::isnan(measurement.metrics.at(name)) && is_finite("train_loss") && is_finite("val_loss");
}

/// Why these values end a trial, or empty. A diverged training does not recover. With the first rules an undefined
/// metric counts as diverged.
std::string divergence(const study::StudyConfig& config, const study::Measurement& measurement) {
  for (const auto& [name, value] : measurement.metrics) {
    if (std::isfinite(value)) continue;
    if (config.data.rules > study::kFirstRules && is_undefined(measurement, name)) continue;
    const bool watched =
        name == "train_loss" || std::any_of(config.goals.begin(), config.goals.end(),
                                            [&n = name](const study::Goal& goal) { return goal.metric == n; });
    if (!watched) continue;
    const std::string seen = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return "diverged: " + name + " is " + seen + " at epoch " + std::to_string(measurement.epoch);
  }
  return {};
}

/// Whether a goal or a constraint on measurements names a metric.
bool uses_metric(const study::StudyConfig& config, const std::string& name) {
  return std::ranges::any_of(config.goals, [&](const study::Goal& goal) { return goal.metric == name; }) ||
         std::ranges::any_of(config.subject_to, [&](const study::Constraint& constraint) {
           return constraint.is_measured() && std::ranges::find(constraint.names(), name) != constraint.names().end();
         });
}

}  // namespace

Result<void> EventDelivery::add_costs(study::Measurement& measurement) {
  const study::StudyConfig& config = study_.state.view.config;
  if (!uses_metric(config, "params") && !uses_metric(config, "flops")) return {};
  LANISTA_ASSIGN(const BuiltModel built, study_.models.build(study_.state.trial(measurement.trial).proposal));
  measurement.metrics["params"] = static_cast<double>(built.cost.parameters);
  measurement.metrics["flops"] = built.cost.forward.flops;
  return {};
}

Result<void> EventDelivery::deliver(ActiveTrial& trial) {
  if (trial.pending_outcome && trial.waiting.finished) {
    study::Outcome outcome = *trial.pending_outcome;
    outcome.weights = trial.waiting.finished->weights;
    outcome.weights_hash = trial.waiting.finished->state_hash;
    LANISTA_TRY(ender_.record_outcome(trial.id, std::move(outcome)));
    return slots_.fill_slots();
  }
  if (trial.pausing && trial.waiting.paused) {
    LANISTA_TRY(record_paused(trial));
    return slots_.fill_slots();
  }
  if (!trial.waiting.measurements.empty()) return deliver_measurement(trial);
  study_.state.now = study_.state.due(trial.id, trial.next);
  const std::string reason = trial.waiting.failure->reason;
  LANISTA_TRY(ender_.record_outcome(trial.id, {OutcomeKind::kFailed, reason, {}, "", {}}));
  return slots_.fill_slots();
}

Result<void> EventDelivery::deliver_measurement(ActiveTrial& trial) {
  study::Measured event{std::move(trial.waiting.measurements.front())};
  trial.waiting.measurements.pop_front();
  LANISTA_TRY(add_costs(event.measurement));
  LANISTA_TRY(study_.log.append(RecordType::kMeasurement, study::measurement_json(event.measurement)));
  study_.state.measure(event.measurement);
  search_.announce(event);
  LANISTA_TRY(apply_verdict(trial));
  return slots_.fill_after_wait();
}

Result<void> EventDelivery::apply_verdict(ActiveTrial& trial) {
  const StudyState& state = study_.state;
  const study::Measurement& measurement = state.trial(trial.id).measurements.back();
  const std::string reason = divergence(state.view.config, measurement);
  const bool at_end = measurement.epoch >= study::full_epochs(state.trial(trial.id).proposal);
  const auto is_spared = [&] {
    return !at_end && (state.open.at(trial.id).verdict || search_.verdict(trial.id).tolerates_divergence);
  };
  if (!reason.empty() && !is_spared()) {
    return end_without_weights(trial, {OutcomeKind::kFailed, reason, {}, "", {}});
  }
  if (at_end) return finish(trial, OutcomeKind::kSucceeded, "");
  LANISTA_ASSIGN(const study::Verdict verdict, verdict_after(trial, measurement));
  if (verdict == study::Verdict::kPause) return pause(trial);
  if (verdict == study::Verdict::kStop) {
    return finish(trial, OutcomeKind::kStopped, "stopping rule at epoch " + std::to_string(measurement.epoch));
  }
  active_.advance(trial);
  if (trial.started) launcher_.allow(trial);
  return {};
}

Result<study::Verdict> EventDelivery::verdict_after(const ActiveTrial& trial, const study::Measurement& measurement) {
  // A recorded verdict is final, although the strategy has observed more since.
  const std::optional<study::Verdict>& recorded = study_.state.open.at(trial.id).verdict;
  study::Verdict verdict = recorded ? *recorded : search_.verdict(trial.id).verdict;
  if (verdict == study::Verdict::kContinue && measurement.epoch >= trial.budget) verdict = study::Verdict::kPause;
  if (verdict != study::Verdict::kContinue && !recorded) {
    LANISTA_TRY(study_.log.append(RecordType::kVerdict, verdict_body(trial.id, measurement.epoch, verdict)));
    study_.state.verdict(trial.id, verdict);
  }
  return verdict;
}

Result<void> EventDelivery::end_without_weights(const ActiveTrial& trial, study::Outcome outcome) {
  launcher_.abandon(trial);
  LANISTA_TRY(ender_.record_outcome(trial.id, std::move(outcome)));
  return slots_.fill_slots();
}

Result<void> EventDelivery::finish(ActiveTrial& trial, OutcomeKind kind, const std::string& reason) {
  const study::Outcome outcome{kind, reason, {}, "", {}};
  // No verdict was due here, so the worker may have trained later epochs and these weights are gone.
  if (kind == OutcomeKind::kStopped && search_.ran_ahead(trial.id)) return end_without_weights(trial, outcome);
  trial.pending_outcome = outcome;
  trial.waiting.measurements.clear();
  if (!trial.started) LANISTA_TRY(launcher_.start_to_finish(trial));
  if (!trial.started) return {};  // its failure is delivered as usual
  const bool keep = kept_.would_keep(study_.state.trial(trial.id));
  study_.services.executor->command(Finish{trial.id, keep, false});
  return {};
}

Result<void> EventDelivery::pause(ActiveTrial& trial) {
  trial.pausing = true;
  trial.waiting.measurements.clear();
  if (search_.ran_ahead(trial.id)) {
    // No verdict was due here, so the worker may have trained later epochs and this state is gone. After a resumption
    // the trial trains again to equal bits.
    launcher_.abandon(trial);
    trial.waiting.paused = TrialPausedReport{trial.id, trial.next, 0, {}, ""};
    return deliver(trial);
  }
  if (!trial.started) LANISTA_TRY(launcher_.start_to_finish(trial));
  if (trial.started) study_.services.executor->command(PauseTrial{trial.id});
  return {};  // its failure is delivered as usual
}

Result<void> EventDelivery::record_paused(ActiveTrial& trial) {
  const TrialId id = trial.id;
  const TrialPausedReport& report = *trial.waiting.paused;
  PausedRecord record{{id, trial.next}, study_.state.now, report.address, {}};
  if (!record.address.empty()) record.weights_hash = report.state_hash;
  LANISTA_TRY(study_.log.append(RecordType::kPaused, paused_body(record)));
  if (record.address.empty()) study_.checkpoints.release(study_.state.open.at(id).checkpoint);
  launcher_.remove(id);
  study_.state.pause(record);
  search_.announce(record.event);
  return ender_.end_all_pruned();
}

}  // namespace lanista::engine
