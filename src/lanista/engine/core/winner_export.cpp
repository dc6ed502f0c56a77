#include <algorithm>

#include "lanista/engine/core/ensemble.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/study_setup.h"
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

Result<RunResult> StudyEngine::end_study() {
  const bool stopped = state_.pending_end_reason == "stopped by the user";
  const std::string reason = !state_.pending_end_reason.empty()     ? state_.pending_end_reason
                             : !state_.finish_paused_reason.empty() ? state_.finish_paused_reason
                             : exhausted_reason_.empty()            ? "budget"
                                                                    : exhausted_reason_;
  std::optional<TrialId> winner;
  std::optional<study::Ensemble> ensemble;
  std::map<std::string, double> test;
  // The results that determine the winner are on disk before the winner is announced.
  LANISTA_TRY(log_.sync());
  for (const study::RankingKey& standing : top_k_.best()) {
    auto tested = measure_winner(state_.trial(standing.trial));
    if (!tested && tested.error().code != Code::kDataLoss) return std::move(tested).error();
    if (tested) {
      winner = standing.trial;
      test = *std::move(tested);
      break;
    }
    event(Level::kWarning, "winner_lost", {{"trial", standing.trial.value}, {"reason", tested.error().text()}});
  }
  if (winner) {
    const TrialView& named = state_.trial(*winner);
    LANISTA_ASSIGN(ensemble, choose_ensemble_for(named));
    LANISTA_TRY(write_best(ensemble.value_or(study::Ensemble{{{*winner, 1}}}), test));
  }
  const double seconds = services_.clock->now() - attempt_start_seconds_;
  state_.set_worked_seconds(seconds);
  LANISTA_TRY(log_.append(store::RecordType::kAttempt, attempt_worked_body("worked", seconds)));
  LANISTA_TRY(log_.append(store::RecordType::kStudyEnd, study_end_body(reason, winner, test, ensemble)));
  LANISTA_TRY(log_.sync());
  LANISTA_TRY(checkpoint_refs_.remove_unreferenced_files());
  if (zoo_) zoo_->release();
  save_study_timings();
  state_.end_study(reason, winner, std::move(test), std::move(ensemble));
  return RunResult{stopped ? RunEnd::kStoppedByUser : RunEnd::kDone, reason};
}

Result<EnsembleCandidate> StudyEngine::ensemble_candidate(const TrialView& trial) {
  LANISTA_ASSIGN(BuiltModel built, build_model(trial.proposal));
  LANISTA_ASSIGN(Job job, make_job(state_.view.config, *services_.data, trial, std::move(built.model)));
  job.frozen = frozen();
  if (job.device.empty()) job.device = first_capable_device(services_.devices, job);
  LANISTA_TRY(plan_start(job, state_.view, models_->ops()));
  LANISTA_TRY(load_weights(trial, job));
  return EnsembleCandidate{&trial, std::move(job), trial.outcome->weights};
}

Result<std::map<std::string, double>> StudyEngine::measure_winner(const TrialView& winner) {
  if (winner.outcome->weights.empty()) {
    event(Level::kWarning, "winner_without_weights", {{"trial", winner.id.value}});
    return std::map<std::string, double>();
  }
  LANISTA_ASSIGN(const EnsembleCandidate one, ensemble_candidate(winner));
  if (!has_test_part()) return std::map<std::string, double>();
  return services_.executor->test(one.job, one.weights);
}

Result<EnsembleModel> StudyEngine::ensemble_model_of(const TrialView& named) {
  EnsembleModel out;
  for (const TrialView* training : study::fold_models_of(state_.view, named)) {
    if (training->outcome->weights.empty()) continue;
    auto one = ensemble_candidate(*training);
    if (!one && one.error().code != Code::kDataLoss) return std::move(one).error();
    if (one) {
      out.push_back(*std::move(one));
    } else {
      event(Level::kWarning, "training_lost", {{"trial", training->id.value}, {"reason", one.error().text()}});
    }
  }
  return out;
}

Result<std::optional<study::Ensemble>> StudyEngine::choose_ensemble_for(const TrialView& winner) {
  const std::int64_t most = state_.view.config.keep.ensemble;
  const bool folds = state_.view.config.data.folds.has_value();
  const bool chooses = most >= 2 && (folds || services_.data->split_rows[1] > 0);
  std::vector<EnsembleModel> models;
  if (!chooses && !folds) return std::optional<study::Ensemble>();
  LANISTA_ASSIGN(models.emplace_back(), ensemble_model_of(winner));
  if (models.front().empty()) return std::optional<study::Ensemble>();
  for (const study::RankingKey& standing : top_k_.best()) {
    if (!chooses || standing.trial == winner.id) continue;
    LANISTA_ASSIGN(EnsembleModel model, ensemble_model_of(state_.trial(standing.trial)));
    models.push_back(std::move(model));
  }
  models = eligible_models(std::move(models));

  study::Ensemble chosen;
  for (const EnsembleCandidate& training : models.front()) chosen.members.push_back({training.trial->id, 1});
  const std::vector<study::Ensemble::Member> alone = chosen.members;
  if (models.size() > 1) {
    LANISTA_ASSIGN(chosen, choose_ensemble(*services_.executor, state_.view.config, services_.ops, models, most));
    // The trainings of one proposal have the metrics by which it is ranked.
    if (chosen.members == alone) chosen.validation.clear();
  }
  if (chosen.members.size() == 1) return std::optional<study::Ensemble>();
  if (has_test_part()) {
    LANISTA_ASSIGN(chosen.test, services_.executor->measure(evaluated_members(models, chosen), data::Part::kTest));
  }
  return std::optional(std::move(chosen));
}

Result<std::optional<ModelPackage>> StudyEngine::package_of(const TrialView& trial,
                                                            const std::map<std::string, double>& test) {
  if (trial.outcome->weights.empty()) return std::optional<ModelPackage>();
  LANISTA_ASSIGN(EnsembleCandidate one, ensemble_candidate(trial));
  LANISTA_ASSIGN(store::Checkpoint checkpoint, load_weights(trial, one.job));
  LANISTA_ASSIGN(auto state,
                 full_state(store::selected_weights(std::move(checkpoint)), one.job.frozen, checkpoint_refs_.files()));
  ModelPackage package = make_package(state_.view.config, *services_.data, trial, one.job.recipe,
                                      std::move(one.job.model), std::move(state), test);
  if (const DeviceTable::Row* device = devices_.find(trial.device)) {
    package.facts["device"] = {{"name", device->name}, {"class", device->numeric_class}};
  }
  return std::optional(std::move(package));
}

Result<void> StudyEngine::write_best(const study::Ensemble& ensemble, const std::map<std::string, double>& test) {
  std::vector<ModelPackage> singles;
  for (const study::Ensemble::Member& member : ensemble.members) {
    LANISTA_ASSIGN(auto single, package_of(state_.trial(member.trial), test));
    if (!single) return {};
    singles.push_back(*std::move(single));
  }
  LANISTA_TRY(write_package(
      *services_.fs, folder_ + "/best",
      blend_packages(std::move(singles), ensemble.shares(), *services_.data, ensemble.validation, ensemble.test)));
  if (services_.observer.on_package) services_.observer.on_package(!test.empty());
  return {};
}

Result<store::Checkpoint> StudyEngine::load_weights(const TrialView& trial, const Job& job) {
  const std::string& address = trial.outcome->weights;
  auto stored = checkpoint_refs_.files().get(address);
  if (stored || (stored.error().code != Code::kDataLoss && stored.error().code != Code::kNotFound)) return stored;
  event(Level::kWarning, "weights_lost", {{"trial", trial.id.value}, {"reason", stored.error().text()}});
  LANISTA_TRY(checkpoint_refs_.remove_damaged(address));
  LANISTA_TRY(retrain(job, trial.measurements.back().epoch));
  stored = checkpoint_refs_.files().get(address);
  if (stored || stored.error().code != Code::kNotFound) return stored;
  return Error{Code::kDataLoss, "its weights are lost, and training it again gave different ones", ""};
}

Result<void> StudyEngine::retrain(const Job& job, std::int64_t epochs) {
  const auto lost = [](const std::string& reason) {
    return Error{Code::kDataLoss, "its weights are lost, and it cannot be trained again: " + reason, ""};
  };
  if (auto started = services_.executor->start(job); !started) return lost(started.error().text());
  services_.executor->command(Allow{job.trial, epochs});
  services_.executor->command(Finish{job.trial, true, false});
  while (true) {
    if (services_.pause != nullptr && services_.pause->load() != 0) {
      return Error{Code::kUnavailable, "interrupted while the winner was trained again", ""};
    }
    const auto report = services_.executor->next(kPollSeconds);
    if (services_.observer.on_idle) services_.observer.on_idle(state_.view);
    if (!report) continue;
    if (const auto* broken = std::get_if<ExecutorErrorReport>(&*report)) return broken->error;
    if (const auto* saved = std::get_if<CheckpointReport>(&*report)) LANISTA_TRY(record_checkpoint(*saved));
    const auto* failure = std::get_if<FailureReport>(&*report);
    if (failure != nullptr && failure->trial == job.trial) return lost(failure->reason);
    const auto* finished = std::get_if<FinishedReport>(&*report);
    if (finished != nullptr && finished->trial == job.trial) return {};
  }
}

Result<void> StudyEngine::repair_package() {
  if (!state_.view.winner) return {};
  const TrialView& winner = state_.trial(*state_.view.winner);
  const auto whole = read_package(*services_.fs, folder_ + "/best", services_.ops);
  if (whole || (whole.error().code != Code::kDataLoss && whole.error().code != Code::kNotFound)) return {};
  event(Level::kWarning, "package_lost", {{"trial", winner.id.value}, {"reason", whole.error().text()}});
  if (winner.outcome->weights.empty()) event(Level::kWarning, "winner_without_weights", {{"trial", winner.id.value}});
  LANISTA_TRY(write_best(state_.view.ensemble.value_or(study::Ensemble{{{winner.id, 1}}}), state_.view.test));
  return checkpoint_refs_.remove_unreferenced_files();
}

Engine::Extension StudyEngine::suggested_extension() const {
  const StudyView& view = state_.view;
  const bool stopped = view.end_reason == "stopped by the user";
  if (!stopped && view.end_reason != "budget" && view.end_reason != "guard") return {};
  const study::BudgetConfig& budget = view.config.budget;
  const std::int64_t least = min_trial_steps(view.config, *services_.data);
  const auto trials = static_cast<std::int64_t>(view.trials.size());
  const auto as_many_steps = [&] { return std::max(least, budget.steps.value_or(view.steps)); };
  Extension out;
  if (is_trial_budget_spent()) out.trials = std::max<std::int64_t>(1, trials);
  if (state_.steps && view.steps + least > *state_.steps) out.steps = as_many_steps();
  if (out.empty() && stopped) {
    if (state_.trials) {
      out.trials = *state_.trials - trials;
    } else if (state_.steps) {
      out.steps = *state_.steps - view.steps;
    }
  } else if (out.empty() && state_.steps && view.end_reason == "budget") {
    out.steps = as_many_steps();  // a shortest trial would fit, the proposed ones did not
  }
  // A smaller extension would soon end the study again.
  const double left = state_.minutes ? *state_.minutes * 60 - view.seconds : 0;
  if (state_.minutes && (stopped ? left <= 0 : left < view.seconds)) {
    out.minutes = budget.guard_minutes.value_or(*state_.minutes);
  } else if (state_.minutes && out.empty()) {
    out.minutes = std::max(left / 60, 0.001);
  }
  return out;
}

}  // namespace lanista::engine
