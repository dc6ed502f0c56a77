// Ensembles of the kept trials of a study that has ended.
#include <iostream>

#include "lanista/app/cli/leaderboard.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/engine/core/ensemble.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/moved_data.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::cli {
namespace {

/// The trials with kept weights, best first; with folds the trainings of each such proposal.
Result<std::vector<engine::EnsembleModel>> kept_models(const std::string& folder, const study::StudyView& view,
                                                       const data::DataSpec& data) {
  const store::CheckpointStore checkpoints(real_file_system(), folder);
  LANISTA_ASSIGN(const engine::FrozenPart frozen, engine::frozen_part(view));
  std::vector<engine::EnsembleModel> out;
  for (const TrialId id : study::ranking(view)) {
    engine::EnsembleModel model;
    for (const study::TrialView* trial : study::fold_models_of(view, view.trials[id.value - 1])) {
      if (!trial->outcome || trial->outcome->weights.empty()) continue;
      if (!real_file_system().exists(checkpoints.path(trial->outcome->weights))) continue;
      LANISTA_ASSIGN(graph::Graph net, study::trial_model(view, *trial, graph::builtin_ops()));
      LANISTA_ASSIGN(engine::Job job, engine::make_job(view.config, data, *trial, std::move(net)));
      job.frozen = frozen;
      model.push_back({trial, std::move(job), trial->outcome->weights});
    }
    if (!model.empty()) out.push_back(std::move(model));
  }
  if (out.empty()) return Error{Code::kNotFound, "the study has no trial with kept weights", folder};
  return engine::eligible_models(std::move(out));
}

}  // namespace

Result<engine::ModelPackage> ensemble_of_study(const std::string& folder, std::int64_t max_selections) {
  LANISTA_ASSIGN(study::StudyView view, load_study(folder));
  if (!view.config.goals.front().metric.starts_with("val_")) {
    return Error{Code::kInvalidArgument,
                 "an ensemble needs a first goal that is measured on the validation part; the first goal is '" +
                     view.config.goals.front().metric + "'",
                 "--ensemble"};
  }
  LANISTA_ASSIGN(const data::Dataset data, engine::open_study_data(view.config, folder, real_file_system()));
  LANISTA_ASSIGN(const auto candidates, kept_models(folder, view, data.spec()));
  engine::WorkerConfig worker_config = make_worker_config(view.config, {.workers = 1, .lanes = {}, .isolation = {}});
  worker_config.study_folder = folder;
  worker_config.data.folder = folder;
  LANISTA_ASSIGN(const data::DataSpec known, data::parse_spec(view.data));
  worker_config.data.hash = known.hash;
  worker_config.crash_marks = false;
  const RealClock clock;
  LANISTA_ASSIGN(const auto executor,
                 runtime::WorkerExecutor::create(worker_config, data, program::Operators(), real_file_system(), clock));
  LANISTA_ASSIGN(const study::Ensemble chosen,
                 engine::choose_ensemble(*executor, view.config, graph::builtin_ops(), candidates, max_selections));
  std::vector<engine::ModelPackage> singles;
  for (const study::Ensemble::Member& member : chosen.members) {
    LANISTA_ASSIGN(auto single, load_package(folder + "#" + std::to_string(member.trial.value)));
    singles.push_back(std::move(single));
  }
  print_notes({ensemble_members_text(chosen, view.config.goals.front().metric)});
  return engine::blend_packages(std::move(singles), chosen.shares(), data.spec(), chosen.validation, chosen.test);
}

}  // namespace lanista::cli
