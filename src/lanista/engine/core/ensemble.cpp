#include "lanista/engine/core/ensemble.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/study/constraint.h"
#include "lanista/search/study/trainings.h"

namespace lanista::engine {
namespace {

/// Size of a candidate's model.
struct ModelSize {
  double params = 0, flops = 0;
};

class EnsembleSearch {
 public:
  EnsembleSearch(Executor& executor, const study::StudyConfig& config, std::span<const EnsembleModel> models)
      : executor_(executor), config_(config), models_(models) {}

  Result<void> compute_sizes(const graph::OpTable& ops) {
    for (const EnsembleModel& model : models_) {
      LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model.front().job.model, ops));
      sizes_.push_back({static_cast<double>(cost.parameters), cost.forward.flops});
    }
    return {};
  }

  /// The ensemble with these repetitions of the models, measured.
  Result<study::Ensemble> measure_blend(std::span<const std::int64_t> repetitions) const {
    study::Ensemble ensemble;
    std::vector<study::Measurement> folds;
    for (std::size_t fold = 0; fold < models_.front().size(); ++fold) {
      study::Ensemble of_fold;
      for (std::size_t k = 0; k < repetitions.size(); ++k) {
        if (repetitions[k] > 0) of_fold.members.push_back({models_[k][fold].trial->id, repetitions[k]});
      }
      LANISTA_ASSIGN(folds.emplace_back().metrics,
                     executor_.measure(evaluated_members(models_, of_fold), data::Part::kValidation));
      ensemble.members.insert(ensemble.members.end(), of_fold.members.begin(), of_fold.members.end());
    }
    std::vector<const study::Measurement*> each;
    for (const study::Measurement& fold : folds) each.push_back(&fold);
    ensemble.validation = folds.size() == 1 ? folds.front().metrics : study::average(config_, each).metrics;
    return ensemble;
  }

  /// The largest violation of the study's constraints by one of its models.
  double violation(const study::Ensemble& ensemble, std::span<const std::int64_t> repetitions) const {
    ModelSize sum;
    for (std::size_t k = 0; k < repetitions.size(); ++k) {
      if (repetitions[k] == 0) continue;
      sum.params += sizes_[k].params;
      sum.flops += sizes_[k].flops;
    }
    double worst = 0;
    for (std::size_t k = 0; k < repetitions.size(); ++k) {
      if (repetitions[k] == 0) continue;
      const study::TrialView& trial = *models_[k].front().trial;
      study::Measurement seen = study::result_of(config_, trial);
      for (const auto& [name, value] : ensemble.validation) seen.metrics[name] = value;
      seen.metrics["params"] = sum.params;
      seen.metrics["flops"] = sum.flops;
      worst = std::max(worst, violation_of(seen, trial.proposal.sample));
    }
    return worst;
  }

 private:
  /// Violation of all constraints, those on the size included, because the size of a blend is not known beforehand.
  double violation_of(const study::Measurement& seen, const space::Sample& sample) const {
    const auto value_of = [&](const std::string& name) -> std::optional<double> {
      if (const auto found = seen.metrics.find(name); found != seen.metrics.end()) return found->second;
      if (study::is_metric(name)) return std::numeric_limits<double>::quiet_NaN();
      return study::number_in(sample, name);
    };
    double sum = 0;
    for (const study::Constraint& constraint : config_.subject_to) sum += constraint.violation(value_of).value_or(0);
    return sum;
  }

  Executor& executor_;
  const study::StudyConfig& config_;
  std::span<const EnsembleModel> models_;
  std::vector<ModelSize> sizes_;
};

/// Orders the model's trainings in the fold order of `first`. Returns false if one of these folds is missing.
bool order_by_fold(EnsembleModel& model, const EnsembleModel& first) {
  EnsembleModel out;
  for (const EnsembleCandidate& wanted : first) {
    const auto same = [&](const EnsembleCandidate& each) { return each.job.fold == wanted.job.fold; };
    const auto found = std::ranges::find_if(model, same);
    if (found == model.end()) return false;
    out.push_back(*found);
  }
  model = std::move(out);
  return true;
}

std::vector<std::string> weight_addresses(const EnsembleModel& model) {
  std::vector<std::string> out;
  for (const EnsembleCandidate& each : model) out.push_back(each.weights);
  return out;
}

}  // namespace

std::vector<EnsembleModel> eligible_models(std::vector<EnsembleModel> models) {
  if (models.empty()) return models;
  const EnsembleModel first = models.front();
  std::erase_if(models, [&](EnsembleModel& each) { return !order_by_fold(each, first); });
  // Models with equal weights predict the same, so a copy adds nothing.
  std::set<std::vector<std::string>> seen;
  std::erase_if(models, [&](const EnsembleModel& each) { return !seen.insert(weight_addresses(each)).second; });
  return models;
}

std::vector<EvaluatedMember> evaluated_members(std::span<const EnsembleModel> models, const study::Ensemble& ensemble) {
  const std::vector<double> shares = ensemble.shares();
  std::vector<EvaluatedMember> out;
  for (std::size_t i = 0; i < ensemble.members.size(); ++i) {
    const EnsembleCandidate* member = nullptr;
    for (const EnsembleModel& model : models) {
      const auto belongs_to_trial = [&](const EnsembleCandidate& each) {
        return each.trial->id == ensemble.members[i].trial;
      };
      if (const auto found = std::ranges::find_if(model, belongs_to_trial); found != model.end()) member = &*found;
    }
    LANISTA_CHECK(member != nullptr, "members are among the models");
    out.push_back({member->job, member->weights, shares[i]});
  }
  return out;
}

Result<study::Ensemble> choose_ensemble(Executor& executor, const study::StudyConfig& config, const graph::OpTable& ops,
                                        std::span<const EnsembleModel> models, std::int64_t most) {
  LANISTA_CHECK(!models.empty() && !config.goals.empty(), "an ensemble needs models and a goal");
  const auto has_same_size = [&](const EnsembleModel& model) {
    return !model.empty() && model.size() == models.front().size();
  };
  LANISTA_CHECK(std::ranges::all_of(models, has_same_size), "models with a training for some of the folds");
  const study::Goal& goal = config.goals.front();
  if (!goal.metric.starts_with("val_")) {
    study::Ensemble first;
    for (const EnsembleCandidate& training : models.front()) first.members.push_back({training.trial->id, 1});
    return first;
  }
  EnsembleSearch choice(executor, config, models);
  LANISTA_TRY(choice.compute_sizes(ops));

  std::vector<std::int64_t> alone(models.size(), 0);
  alone[0] = 1;
  LANISTA_ASSIGN(study::Ensemble first, choice.measure_blend(alone));
  const double allowed = choice.violation(first, alone);
  const auto loss = [&](std::span<const std::int64_t> repetitions) -> Result<std::optional<double>> {
    LANISTA_ASSIGN(const study::Ensemble ensemble, choice.measure_blend(repetitions));
    const auto value = ensemble.validation.find(goal.metric);
    if (value == ensemble.validation.end() || choice.violation(ensemble, repetitions) > allowed)
      return std::optional<double>();
    return std::optional(goal.maximize ? -value->second : value->second);
  };
  LANISTA_ASSIGN(const auto repetitions, study::select_ensemble(models.size(), most, loss));
  return repetitions == alone ? first : choice.measure_blend(repetitions);
}

}  // namespace lanista::engine
