#include "lanista/engine/core/earlier_trials.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "lanista/engine/core/executor.h"
#include "lanista/engine/core/idle_settings.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/study/trainings.h"

namespace lanista::engine {
namespace {

using study::StudyConfig;
using study::StudyView;
using study::TrialView;

/// Checks that trials of the old study can be compared with those of the new one.
Result<void> check_comparable(const StudyView& old_study, const StudyConfig& config, const data::DataSpec& data) {
  const auto refuse = [](const std::string& message, const std::string& key) {
    return Error{Code::kInvalidArgument, "its trials cannot be imported: " + message, key};
  };
  if (old_study.data.value("hash", "") != data.hash.hex()) {
    return refuse("it has other data, so its results are for other rows", "data.source");
  }
  if (old_study.config.data.targets != config.data.targets) {
    return refuse("targets were " + old_study.config.data.targets + ", are " + config.data.targets, "data.targets");
  }
  if (old_study.config.model.frozen || config.model.frozen)
    return refuse("a part of its models is frozen", "model.frozen");
  if (old_study.config.data.class_weights != config.data.class_weights) {
    return refuse("the class weights differ", std::string(study::kClassWeightsKey));
  }
  if (old_study.config.train.optimizer.rates != config.train.optimizer.rates) {
    return refuse("parts of its models have other learning rates", std::string(study::kRatesKey));
  }
  if (study::trainings_per_proposal(old_study.config) > 1 || study::trainings_per_proposal(config) > 1) {
    return refuse("proposals are trained several times", config.data.folds ? "data.folds" : "strategy.repeat");
  }
  return {};
}

/// The recipe's value of this name in the domain; nullopt if the domain does not have it.
std::optional<space::Value> value_in(const space::Domain& domain, const nlohmann::json& recipe,
                                     const std::string& name) {
  const auto found = recipe.find(name);
  return found == recipe.end() ? std::nullopt : space::value_in(domain, *found);
}

/// Converts trials one by one. A text is the reason why one does not fit.
class TrialMatcher {
 public:
  TrialMatcher(const StudyView& old_study, const StudyConfig& config, const data::DataSpec& data,
               const mutate::ModelSpace& models)
      : old_(old_study), config_(config), data_(data), models_(models), parameters_(config.space.params.parameters()) {
    for (space::Parameter& choice : models.parameters()) parameters_.push_back(std::move(choice));
  }

  /// The trial in the new space, or the reason why it does not fit. Errors: kDataLoss.
  Result<std::variant<study::EarlierTrial, std::string>> match(const TrialView& trial) const {
    using MatchResult = std::variant<study::EarlierTrial, std::string>;
    const study::Proposal& old_sample = trial.proposal;
    if (old_sample.start) return MatchResult("it began with another trial's weights");
    if (old_sample.is_refinement) return MatchResult("it tuned its settings while it trained (strategy.then)");
    study::EarlierTrial out{trial.id, old_sample, trial.measurements, trial.outcome->kind};
    study::Proposal& converted = out.proposal;
    converted.parent.reset();
    converted.repeat = 0;
    converted.budget = study::full_epochs(old_sample);
    converted.horizon = 0;
    if (converted.budget != config_.train.length.epochs)
      return MatchResult("epochs were " + std::to_string(converted.budget));

    const auto base = base_of(old_sample);
    if (!base) return MatchResult("its base model is not in the space");
    converted.base = *base;
    for (const space::MutationStep& step : old_sample.steps) {
      const auto& mutators = config_.space.mutate;
      if (std::ranges::find(mutators, step.mutator, &study::PluginConfig::name) == mutators.end()) {
        return MatchResult("the mutator '" + step.mutator + "' is not in the space");
      }
    }
    LANISTA_ASSIGN(const graph::Graph model, models_.rebuild(converted.base, converted.edits));
    if (graph::canonical_hash(model, models_.ops()) != old_sample.graph_hash)
      return MatchResult("its base model is a different one");
    if (auto within = models_.check_limits(model); !within) return MatchResult("its model breaks the limits");
    if (auto why = convert_sample(old_sample.sample, converted.sample)) return MatchResult(*std::move(why));
    LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_.ops()));
    const std::map<std::string, double> known{{"params", static_cast<double>(cost.parameters)},
                                              {"flops", cost.forward.flops}};
    for (const std::string& metric : requested_metrics()) {
      if (const auto of_model = known.find(metric); of_model != known.end()) {
        for (study::Measurement& each : out.measurements) each.metrics.insert(*of_model);
      }
      if (!out.measurements.back().metrics.contains(metric)) return MatchResult("'" + metric + "' was not measured");
    }
    return MatchResult(std::move(out));
  }

 private:
  std::vector<std::string> requested_metrics() const {
    std::vector<std::string> out;
    for (const study::Goal& goal : config_.goals) out.push_back(goal.metric);
    for (const study::Constraint& constraint : config_.subject_to) {
      if (!constraint.is_measured()) continue;
      for (const std::string& name : constraint.names()) {
        const bool sampled = std::ranges::find(parameters_, name, &space::Parameter::name) != parameters_.end();
        if (!sampled) out.push_back(name);
      }
    }
    return out;
  }

  std::optional<std::int64_t> base_of(const study::Proposal& old_sample) const {
    for (std::size_t i = 0; i < models_.bases().size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      if (models_.base(index).hash == old_sample.base_hash) return index;
    }
    return std::nullopt;
  }

  std::optional<std::string> convert_sample(const space::Sample& old_sample, space::Sample& converted) const {
    const auto before = study::make_recipe(old_.config, loss_name(old_.config, data_), old_sample);
    if (!before) return "its recipe cannot be made any more";
    nlohmann::json recipe = study::recipe_json(*before);
    converted.clear();
    for (const space::Parameter& parameter : parameters_) {
      if (!space::is_active(parameter, converted)) continue;
      const auto sampled = old_sample.find(parameter.name);
      std::optional<space::Value> value;
      if (sampled != old_sample.end()) {
        // The integer 0 of a choice equals 0.0 of a range.
        const bool same = space::domain_contains(parameter.domain, sampled->second);
        value = same ? sampled->second : value_in(parameter.domain, space::sample_json(old_sample), parameter.name);
      } else if (!space::is_model_choice(parameter.name)) {
        value = value_in(parameter.domain, recipe, parameter.name);
      }
      if (!value) return "its " + parameter.name + " is not in the space";
      converted[parameter.name] = *std::move(value);
    }
    for (const auto& [name, value] : old_sample) {
      if (space::is_model_choice(name) && !converted.contains(name)) return "the space has no " + name;
    }
    const auto after = study::make_recipe(config_, loss_name(config_, data_), converted);
    if (!after) return "its recipe cannot be made";
    nlohmann::json now = study::recipe_json(*after);
    if (now == recipe) return std::nullopt;
    if (before->optimizer == after->optimizer) {
      erase_unread_numbers(now, after->optimizer);
      erase_unread_numbers(recipe, before->optimizer);
      if (now == recipe) return std::nullopt;
    }
    for (const auto& [name, value] : recipe.items()) {
      if (name != "epochs" && (!now.contains(name) || now.at(name) != value))
        return name + " had another value in training";
    }
    return "its training was different";
  }

  const StudyView& old_;
  const StudyConfig& config_;
  const data::DataSpec& data_;
  const mutate::ModelSpace& models_;
  std::vector<space::Parameter> parameters_;
};

}  // namespace

std::size_t count_json_values(const nlohmann::json& value) {
  std::size_t out = 1;
  if (!value.is_structured()) return out;
  for (const auto& [key, inner] : value.items()) out += count_json_values(inner) + (value.is_object() ? 1 : 0);
  return out;
}

Result<ImportedTrials> import_trials(const StudyView& old_study, const StudyConfig& config, const data::DataSpec& data,
                                     const mutate::ModelSpace& models) {
  LANISTA_TRY(check_comparable(old_study, config, data));
  const TrialMatcher fitting(old_study, config, data, models);
  ImportedTrials out;
  out.earlier.study = old_study.config.name;
  std::size_t values_left = kMaxImportedValues;
  for (auto trial = old_study.trials.rbegin(); trial != old_study.trials.rend(); ++trial) {
    if (!trial->outcome || !study::ranks(*trial, *trial->outcome) || trial->proposal.repeat > 0) continue;
    LANISTA_ASSIGN(auto answer, fitting.match(*trial));
    auto* fits = std::get_if<study::EarlierTrial>(&answer);
    if (fits != nullptr) {
      out.earlier.trials.push_back(std::move(*fits));
      values_left -=
          std::min(values_left, count_json_values(study::earlier_study_json({"", {out.earlier.trials.back()}, 0})));
      if (values_left > 0) continue;
      out.earlier.trials.pop_back();
    }
    ++out.left_out[fits != nullptr ? "the log header is full" : std::get<std::string>(answer)];
    ++out.earlier.left_out;
  }
  std::ranges::reverse(out.earlier.trials);
  return out;
}

}  // namespace lanista::engine
