#include "lanista/engine/core/trained_weights.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "lanista/engine/core/warm_start.h"

namespace lanista::engine {
namespace {

/// Name of the first device that supports the job; empty: any.
std::string first_capable_device(const std::vector<TrainingDevice>& devices, const Job& job) {
  const auto capable = std::ranges::find_if(
      devices, [&](const TrainingDevice& device) { return !device.supports || device.supports(job); });
  return capable == devices.end() ? std::string() : capable->name;
}

}  // namespace

Result<EnsembleCandidate> TrainedWeights::candidate(const TrialView& trial) {
  LANISTA_ASSIGN(BuiltModel built, study_.models.build(trial.proposal));
  LANISTA_ASSIGN(Job job, make_job(study_.state.view.config, *study_.services.data, trial, std::move(built.model)));
  job.frozen = study_.frozen();
  if (job.device.empty()) job.device = first_capable_device(study_.services.devices, job);
  LANISTA_TRY(plan_start(job, study_.state.view, study_.models.ops()));
  LANISTA_TRY(load(trial, job));
  return EnsembleCandidate{&trial, std::move(job), trial.outcome->weights};
}

Result<store::Checkpoint> TrainedWeights::load(const TrialView& trial, const Job& job) {
  const std::string& address = trial.outcome->weights;
  auto stored = study_.checkpoints.files().get(address);
  if (stored || (stored.error().code != Code::kDataLoss && stored.error().code != Code::kNotFound)) return stored;
  study_.event(Level::kWarning, "weights_lost", {{"trial", trial.id.value}, {"reason", stored.error().text()}});
  LANISTA_TRY(study_.checkpoints.remove_damaged(address));
  LANISTA_TRY(retrain(job, trial.measurements.back().epoch));
  stored = study_.checkpoints.files().get(address);
  if (stored || stored.error().code != Code::kNotFound) return stored;
  return Error{Code::kDataLoss, "its weights are lost, and training it again gave different ones", ""};
}

Result<void> TrainedWeights::retrain(const Job& job, std::int64_t epochs) {
  const auto lost = [](const std::string& reason) {
    return Error{Code::kDataLoss, "its weights are lost, and it cannot be trained again: " + reason, ""};
  };
  if (auto started = study_.services.executor->start(job); !started) return lost(started.error().text());
  study_.services.executor->command(Allow{job.trial, epochs});
  study_.services.executor->command(Finish{job.trial, true, false});
  while (true) {
    if (study_.services.pause != nullptr && study_.services.pause->load() != 0) {
      return Error{Code::kUnavailable, "interrupted while the winner was trained again", ""};
    }
    const auto report = study_.services.executor->next(kPollSeconds);
    if (study_.services.observer.on_idle) study_.services.observer.on_idle(study_.state.view);
    if (!report) continue;
    if (const auto* broken = std::get_if<ExecutorErrorReport>(&*report)) return broken->error;
    if (const auto* saved = std::get_if<CheckpointReport>(&*report)) LANISTA_TRY(kept_.record_checkpoint(*saved));
    const auto* failure = std::get_if<FailureReport>(&*report);
    if (failure != nullptr && failure->trial == job.trial) return lost(failure->reason);
    const auto* finished = std::get_if<FinishedReport>(&*report);
    if (finished != nullptr && finished->trial == job.trial) return {};
  }
}

}  // namespace lanista::engine
