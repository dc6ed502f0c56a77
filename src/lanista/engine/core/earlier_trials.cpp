#include "lanista/engine/core/earlier_trials.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "lanista/engine/core/executor.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/study/trainings.h"

namespace lanista::engine {
namespace {

using study::StudyConfig;
using study::StudyView;
using study::TrialView;

/// Why nothing of the old study says anything of the new one.
Result<void> check_comparable(const StudyView& old, const StudyConfig& config, const data::DataSpec& data) {
  const auto refuse = [](const std::string& message, const std::string& key) {
    return Error{Code::kInvalidArgument, "its trials cannot be taken over: " + message, key};
  };
  if (old.data.value("hash", "") != data.hash.hex()) {
    return refuse("it is on other data, so that its results are of other rows", "data.source");
  }
  if (old.config.data.targets != config.data.targets) {
    return refuse("targets were " + old.config.data.targets + ", are " + config.data.targets, "data.targets");
  }
  if (old.config.model.frozen || config.model.frozen) return refuse("a part of its models is frozen", "model.frozen");
  if (old.config.data.class_weights != config.data.class_weights) {
    return refuse("classes weigh otherwise", std::string(study::kClassWeightsKey));
  }
  if (old.config.train.rates != config.train.rates) {
    return refuse("parts of its models train at other rates", std::string(study::kRatesKey));
  }
  if (study::trainings_each(old.config) > 1 || study::trainings_each(config) > 1) {
    return refuse("proposals are trained several times", config.data.folds ? "data.folds" : "strategy.repeat");
  }
  return {};
}

/// A value of a recipe as one of a domain; nullopt if it is none.
std::optional<space::Value> value_in(const space::Domain& domain, const nlohmann::json& recipe,
                                     const std::string& name) {
  const auto found = recipe.find(name);
  return found == recipe.end() ? std::nullopt : space::value_in(domain, *found);
}

/// Takes over trial by trial; a text is why one does not fit.
class Fitting {
 public:
  Fitting(const StudyView& old, const StudyConfig& config, const data::DataSpec& data, const mutate::ModelSpace& models)
      : old_(old), config_(config), data_(data), models_(models), parameters_(config.space.params.parameters()) {
    for (space::Parameter& choice : models.parameters()) parameters_.push_back(std::move(choice));
  }

  /// The trial as one of the new space, or why it is none. Errors: kDataLoss.
  Result<std::variant<study::EarlierTrial, std::string>> fit(const TrialView& trial) const {
    using Answer = std::variant<study::EarlierTrial, std::string>;
    const study::Proposal& was = trial.proposal;
    if (was.start) return Answer("it began with another trial's weights");
    if (was.tunes) return Answer("it left its settings while it trained (strategy.then)");
    study::EarlierTrial out{trial.id, was, trial.measurements, trial.outcome->kind};
    study::Proposal& is = out.proposal;
    is.parent.reset();
    is.repeat = 0;
    is.budget = study::full_epochs(was);
    is.horizon = 0;
    if (is.budget != config_.train.epochs) return Answer("epochs were " + std::to_string(is.budget));

    const auto base = base_of(was);
    if (!base) return Answer("its base model is not in the space");
    is.base = *base;
    for (const space::MutationStep& step : was.steps) {
      const auto& mutators = config_.space.mutate;
      if (std::ranges::find(mutators, step.mutator, &study::PluginConfig::name) == mutators.end()) {
        return Answer("the mutator '" + step.mutator + "' is not in the space");
      }
    }
    LANISTA_ASSIGN(const graph::Graph model, models_.rebuild(is.base, is.edits));
    if (graph::canonical_hash(model, models_.ops()) != was.graph_hash) return Answer("its base model is another one");
    if (auto within = models_.check_limits(model); !within) return Answer("its model breaks the limits");
    if (auto why = take_sample(was.sample, is.sample)) return Answer(*std::move(why));
    LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_.ops()));
    const std::map<std::string, double> known{{"params", static_cast<double>(cost.parameters)},
                                              {"flops", cost.forward.flops}};
    for (const std::string& metric : metrics_asked()) {
      if (const auto of_model = known.find(metric); of_model != known.end()) {
        for (study::Measurement& each : out.measurements) each.metrics.insert(*of_model);
      }
      if (!out.measurements.back().metrics.contains(metric)) return Answer("'" + metric + "' was not measured");
    }
    return Answer(std::move(out));
  }

 private:
  std::vector<std::string> metrics_asked() const {
    std::vector<std::string> out;
    for (const study::Goal& goal : config_.goals) out.push_back(goal.metric);
    for (const study::Constraint& constraint : config_.subject_to) {
      if (!constraint.is_measured()) continue;
      for (const std::string& name : constraint.names()) {
        const bool drawn = std::ranges::find(parameters_, name, &space::Parameter::name) != parameters_.end();
        if (!drawn) out.push_back(name);
      }
    }
    return out;
  }

  std::optional<std::int64_t> base_of(const study::Proposal& was) const {
    for (std::size_t i = 0; i < models_.bases().size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      if (models_.base(index).hash == was.base_hash) return index;
    }
    return std::nullopt;
  }

  std::optional<std::string> take_sample(const space::Sample& was, space::Sample& is) const {
    const auto before = study::make_recipe(old_.config, loss_name(old_.config, data_), was);
    if (!before) return "its recipe cannot be made any more";
    const nlohmann::json recipe = study::recipe_json(*before);
    is.clear();
    for (const space::Parameter& parameter : parameters_) {
      if (!space::is_active(parameter, is)) continue;
      const auto drawn = was.find(parameter.name);
      std::optional<space::Value> value;
      if (drawn != was.end()) {
        // 0 of a choice is 0.0 of a range.
        const bool same = space::domain_contains(parameter.domain, drawn->second);
        value = same ? drawn->second : value_in(parameter.domain, space::sample_json(was), parameter.name);
      } else if (!space::is_model_choice(parameter.name)) {
        value = value_in(parameter.domain, recipe, parameter.name);
      }
      if (!value) return "its " + parameter.name + " is not in the space";
      is[parameter.name] = *std::move(value);
    }
    for (const auto& [name, value] : was) {
      if (space::is_model_choice(name) && !is.contains(name)) return "the space has no " + name;
    }
    const auto after = study::make_recipe(config_, loss_name(config_, data_), is);
    if (!after) return "its recipe cannot be made";
    const nlohmann::json now = study::recipe_json(*after);
    if (now == recipe) return std::nullopt;
    for (const auto& [name, value] : recipe.items()) {
      if (name != "epochs" && (!now.contains(name) || now.at(name) != value)) return name + " was trained otherwise";
    }
    return "it was trained otherwise";
  }

  const StudyView& old_;
  const StudyConfig& config_;
  const data::DataSpec& data_;
  const mutate::ModelSpace& models_;
  std::vector<space::Parameter> parameters_;
};

}  // namespace

std::size_t json_values(const nlohmann::json& value) {
  std::size_t out = 1;
  if (!value.is_structured()) return out;
  for (const auto& [key, inner] : value.items()) out += json_values(inner) + (value.is_object() ? 1 : 0);
  return out;
}

Result<TakenOver> take_over(const StudyView& old, const StudyConfig& config, const data::DataSpec& data,
                            const mutate::ModelSpace& models) {
  LANISTA_TRY(check_comparable(old, config, data));
  const Fitting fitting(old, config, data, models);
  TakenOver out;
  out.earlier.study = old.config.name;
  std::size_t room = kMostEarlierValues;
  for (auto trial = old.trials.rbegin(); trial != old.trials.rend(); ++trial) {
    if (!trial->outcome || !study::ranks(*trial, *trial->outcome) || trial->proposal.repeat > 0) continue;
    LANISTA_ASSIGN(auto answer, fitting.fit(*trial));
    auto* fits = std::get_if<study::EarlierTrial>(&answer);
    if (fits != nullptr) {
      out.earlier.trials.push_back(std::move(*fits));
      room -= std::min(room, json_values(study::earlier_json({"", {out.earlier.trials.back()}, 0})));
      if (room > 0) continue;
      out.earlier.trials.pop_back();
    }
    ++out.left_out[fits != nullptr ? "a log's header has no more room" : std::get<std::string>(answer)];
    ++out.earlier.left_out;
  }
  std::ranges::reverse(out.earlier.trials);
  return out;
}

}  // namespace lanista::engine
