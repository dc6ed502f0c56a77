#include "lanista/engine/core/winner_export.h"

#include <utility>

#include "lanista/engine/core/device_chooser.h"
#include "lanista/engine/core/frozen_part.h"

namespace lanista::engine {

Result<Winner> WinnerExport::choose_and_write() {
  LANISTA_ASSIGN(Winner winner, best_readable());
  if (!winner.trial) return winner;
  LANISTA_ASSIGN(winner.ensemble, choose_ensemble_for(study_.state.trial(*winner.trial)));
  LANISTA_TRY(write_best(winner.ensemble.value_or(study::Ensemble{{{*winner.trial, 1}}}), winner.test));
  return winner;
}

Result<Winner> WinnerExport::best_readable() {
  for (const study::RankingKey& standing : kept_.best()) {
    auto tested = measure(study_.state.trial(standing.trial));
    if (tested) return Winner{standing.trial, *std::move(tested), {}};
    if (tested.error().code != Code::kDataLoss) return std::move(tested).error();
    study_.event(Level::kWarning, "winner_lost", {{"trial", standing.trial.value}, {"reason", tested.error().text()}});
  }
  return Winner{};
}

Result<std::map<std::string, double>> WinnerExport::measure(const TrialView& winner) {
  if (winner.outcome->weights.empty()) {
    study_.event(Level::kWarning, "winner_without_weights", {{"trial", winner.id.value}});
    return std::map<std::string, double>();
  }
  LANISTA_ASSIGN(const EnsembleCandidate one, weights_.candidate(winner));
  if (!has_test_part()) return std::map<std::string, double>();
  return study_.services.executor->test(one.job, one.weights);
}

Result<EnsembleModel> WinnerExport::ensemble_model_of(const TrialView& named) {
  EnsembleModel out;
  for (const TrialView* training : study::fold_models_of(study_.state.view, named)) {
    if (training->outcome->weights.empty()) continue;
    auto one = weights_.candidate(*training);
    if (!one && one.error().code != Code::kDataLoss) return std::move(one).error();
    if (one) {
      out.push_back(*std::move(one));
    } else {
      study_.event(Level::kWarning, "training_lost", {{"trial", training->id.value}, {"reason", one.error().text()}});
    }
  }
  return out;
}

Result<std::optional<study::Ensemble>> WinnerExport::choose_ensemble_for(const TrialView& winner) {
  const std::int64_t most = study_.state.view.config.keep.ensemble;
  const bool folds = study_.state.view.config.data.folds.has_value();
  const bool chooses = most >= 2 && (folds || study_.services.data->split_rows[1] > 0);
  std::vector<EnsembleModel> models;
  if (!chooses && !folds) return std::optional<study::Ensemble>();
  LANISTA_ASSIGN(models.emplace_back(), ensemble_model_of(winner));
  if (models.front().empty()) return std::optional<study::Ensemble>();
  for (const study::RankingKey& standing : kept_.best()) {
    if (!chooses || standing.trial == winner.id) continue;
    LANISTA_ASSIGN(EnsembleModel model, ensemble_model_of(study_.state.trial(standing.trial)));
    models.push_back(std::move(model));
  }
  models = eligible_models(std::move(models));

  study::Ensemble chosen;
  for (const EnsembleCandidate& training : models.front()) chosen.members.push_back({training.trial->id, 1});
  const std::vector<study::Ensemble::Member> alone = chosen.members;
  if (models.size() > 1) {
    LANISTA_ASSIGN(chosen, choose_ensemble(*study_.services.executor, study_.state.view.config, study_.services.ops,
                                           models, most));
    // The trainings of one proposal have the metrics by which it is ranked.
    if (chosen.members == alone) chosen.validation.clear();
  }
  if (chosen.members.size() == 1) return std::optional<study::Ensemble>();
  if (has_test_part()) {
    LANISTA_ASSIGN(chosen.test,
                   study_.services.executor->measure(evaluated_members(models, chosen), data::Part::kTest));
  }
  return std::optional(std::move(chosen));
}

Result<std::optional<ModelPackage>> WinnerExport::package_of(const TrialView& trial,
                                                             const std::map<std::string, double>& test) {
  if (trial.outcome->weights.empty()) return std::optional<ModelPackage>();
  LANISTA_ASSIGN(EnsembleCandidate one, weights_.candidate(trial));
  LANISTA_ASSIGN(store::Checkpoint checkpoint, weights_.load(trial, one.job));
  LANISTA_ASSIGN(auto state, full_state(store::selected_weights(std::move(checkpoint)), one.job.frozen,
                                        study_.checkpoints.files()));
  ModelPackage package = make_package(study_.state.view.config, *study_.services.data, trial, one.job.recipe,
                                      std::move(one.job.model), std::move(state), test);
  const DeviceTable devices = current_devices(study_.state.view.numerics, study_.services);
  if (const DeviceTable::Row* device = devices.find(trial.device)) {
    package.facts["device"] = {{"name", device->name}, {"class", device->numeric_class}};
  }
  return std::optional(std::move(package));
}

Result<void> WinnerExport::write_best(const study::Ensemble& ensemble, const std::map<std::string, double>& test) {
  std::vector<ModelPackage> singles;
  for (const study::Ensemble::Member& member : ensemble.members) {
    LANISTA_ASSIGN(auto single, package_of(study_.state.trial(member.trial), test));
    if (!single) return {};
    singles.push_back(*std::move(single));
  }
  LANISTA_TRY(write_package(*study_.services.fs, study_.folder + "/best",
                            blend_packages(std::move(singles), ensemble.shares(), *study_.services.data,
                                           ensemble.validation, ensemble.test)));
  if (study_.services.observer.on_package) study_.services.observer.on_package(!test.empty());
  return {};
}

Result<void> WinnerExport::repair_package() {
  if (!study_.state.view.winner) return {};
  const TrialView& winner = study_.state.trial(*study_.state.view.winner);
  const auto whole = read_package(*study_.services.fs, study_.folder + "/best", study_.services.ops);
  if (whole || (whole.error().code != Code::kDataLoss && whole.error().code != Code::kNotFound)) return {};
  study_.event(Level::kWarning, "package_lost", {{"trial", winner.id.value}, {"reason", whole.error().text()}});
  if (winner.outcome->weights.empty())
    study_.event(Level::kWarning, "winner_without_weights", {{"trial", winner.id.value}});
  LANISTA_TRY(
      write_best(study_.state.view.ensemble.value_or(study::Ensemble{{{winner.id, 1}}}), study_.state.view.test));
  return study_.checkpoints.remove_unreferenced_files();
}

}  // namespace lanista::engine
