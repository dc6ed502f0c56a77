#include "lanista/engine/core/study_setup.h"

#include <algorithm>
#include <filesystem>

#include "lanista/base/edit_distance.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/lr_factors.h"
#include "lanista/engine/core/onnx_file.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/io/formats/signature.h"
#include "lanista/io/studyfile/blueprint.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/mutator.h"
#include "lanista/search/halving/per_fold.h"
#include "lanista/search/halving/selected_epoch_events.h"
#include "lanista/search/sampler/earlier_trials.h"
#include "lanista/search/sampler/enqueued.h"
#include "lanista/search/sampler/repeat.h"
#include "lanista/search/sampler/second_stage.h"
#include "lanista/search/study/refinements.h"
#include "lanista/search/study/start_race.h"

namespace lanista::engine {
namespace {

constexpr std::string_view kBuiltin = "builtin:";
constexpr double kLeastEase = 0.3;  // rule of ModelKeeper

Error invalid(const std::string& key, const Error& error) {
  const std::string inner = error.where.empty() ? "" : "." + error.where;
  return Error{Code::kInvalidArgument, error.message, key + inner};
}

template <class Plugin>
Result<Plugin> find_plugin(const std::vector<Plugin>& all, const std::string& name, const std::string& key) {
  std::vector<std::string> names;
  std::string list;
  for (const Plugin& plugin : all) {
    if (plugin.name == name) return plugin;
    names.push_back(plugin.name);
    list += (list.empty() ? "" : ", ") + plugin.name;
  }
  const std::string near = nearest_name(name, names);
  return Error{
      Code::kInvalidArgument,
      "'" + name + "' is unknown; allowed are " + list + (near.empty() ? "" : " (did you mean '" + near + "'?)"), key};
}

/// Checks that a model accepts the features of a sample and gives the predictions that the data need.
Result<void> check_fit(const mutate::BaseModel& base, const data::DataSpec& data, const graph::OpTable& ops) {
  LANISTA_TRY(graph::verify(base.graph, ops));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(base.graph, ops));
  const auto shape_of = [&](std::string_view op) { return types.at({base.graph.nodes_of(op).front(), 0}).shape; };
  const bool takes_tokens = types.at({base.graph.nodes_of("input").front(), 0}).dtype == graph::DType::kIndex;
  if (takes_tokens != (data.vocab > 0)) {
    return Error{Code::kInvalidArgument,
                 takes_tokens ? "the model accepts tokens (dtype=\"index\"), the data have real numbers"
                              : "the model accepts real numbers, the data have tokens (dtype=\"index\")",
                 ""};
  }
  for (const graph::NodeId id : base.graph.nodes_of("embedding")) {
    const auto& vocab = std::get<std::int64_t>(*base.graph.node(id).attrs.find("vocab"));
    if (vocab >= data.vocab) continue;
    return Error{Code::kInvalidArgument,
                 "the model has " + std::to_string(vocab) + " tokens, the data has " + std::to_string(data.vocab), ""};
  }
  graph::Shape features = data.features;
  features.dims.insert(features.dims.begin(), graph::kBatch);
  if (shape_of("input") != features) {
    return Error{Code::kInvalidArgument,
                 "the model accepts " + shape_of("input").text() + ", the data have " + features.text(), ""};
  }
  graph::Shape wanted = data.prediction();
  wanted.dims.insert(wanted.dims.begin(), graph::kBatch);
  if (shape_of("output") != wanted) {
    return Error{Code::kInvalidArgument,
                 "the model gives " + shape_of("output").text() + ", the data need " + wanted.text(), ""};
  }
  return {};
}

Result<mutate::BaseModel> open_base(const std::string& source, const data::DataSpec& data, const std::string& folder,
                                    FileSystem& fs) {
  if (source.starts_with(kBuiltin)) {
    mutate::BaseRequirements wanted{data.features, data.width(), data.vocab, data.positions};
    for (const auto& [begin, size] : data::category_features(data)) wanted.categories.push_back({begin, size});
    return mutate::builtin_base(source.substr(kBuiltin.size()), wanted);
  }
  const std::string path = path_of(source, folder, fs);
  const auto slash = source.find_last_of('/');
  if (source.ends_with(".onnx")) {
    LANISTA_ASSIGN(const formats::ImportedModel imported, import_onnx_file(fs, path));
    std::vector<std::string> notices;
    LANISTA_ASSIGN(graph::Graph model, trainable_form(imported.graph, notices));
    return mutate::BaseModel{source.substr(slash == std::string::npos ? 0 : slash + 1), std::move(model)};
  }
  const auto read = fs.read(path, 0);
  if (!read && read.error().code == Code::kNotFound) {
    std::vector<std::string> names = mutate::builtin_base_names();
    names.emplace_back("embedding-mlp");
    names.emplace_back("auto");
    const std::string near = nearest_name(source, names);
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? " " : ", ") + std::string(kBuiltin) + name;
    return Error{
        Code::kNotFound,
        "there is no file '" + path + "'; " +
            (near.empty() ? "built-in models are" + all : "did you mean '" + std::string(kBuiltin) + near + "'?"),
        ""};
  }
  LANISTA_ASSIGN(const std::string text, read);
  if (auto foreign = formats::unsupported_format_error(text, path)) return *foreign;
  LANISTA_ASSIGN(graph::Graph model, graph::parse(text));
  return mutate::BaseModel{source.substr(slash == std::string::npos ? 0 : slash + 1), std::move(model)};
}

/// The limits of the space and of `subject_to` on the same values; the smaller counts.
mutate::Limits limits_of(const study::StudyConfig& config) {
  mutate::Limits limits{config.space.limit_params, config.space.limit_flops};
  for (const study::Constraint& constraint : config.subject_to) {
    if (const auto most = constraint.upper_bound("params"))
      limits.params = std::min(limits.params.value_or(*most), *most);
    if (const auto most = constraint.upper_bound("flops")) limits.flops = std::min(limits.flops.value_or(*most), *most);
  }
  return limits;
}

/// Keeps the nodes that name parts with their own learning rate in every model of the space.
Result<void> hold_rated(const study::StudyConfig& config, mutate::ModelSpace& models) {
  std::set<graph::NodeId> held;
  for (const mutate::BaseModel& base : models.bases()) {
    LANISTA_ASSIGN(held, check_rates(config.train, base.graph, models.frozen(), models.ops()));
  }
  if (held.empty()) return {};
  if (models.has_blueprint() || models.bases().size() != 1) {
    return Error{Code::kInvalidArgument,
                 "names nodes, which requires one base model; base and head are parts of every model",
                 std::string(study::kRatesKey)};
  }
  models.keep_labels(std::move(held));
  return {};
}

}  // namespace

std::string path_of(const std::string& source, const std::string& folder, FileSystem& fs) {
  std::string path = source.starts_with("/") || folder.empty() ? source : folder + "/" + source;
  // The folder of a new study does not exist yet, so the system cannot resolve "..".
  if (!fs.exists(path)) path = std::filesystem::path(path).lexically_normal().string();
  return path;
}

Result<std::shared_ptr<const mutate::ModelSpace>> make_model_space(const study::StudyConfig& config,
                                                                   const data::DataSpec& data,
                                                                   const std::string& folder, FileSystem& fs,
                                                                   const graph::OpTable& ops) {
  std::vector<mutate::BaseModel> bases;
  for (std::size_t i = 0; i < config.model.base.size(); ++i) {
    const std::string key = "model.base[" + std::to_string(i) + "]";
    auto base = open_base(config.model.base[i], data, folder, fs);
    if (!base) return invalid(key, base.error());
    if (config.train.start.from == study::kStartFile) {
      auto fitted = adapt_base(base->graph, data, ops);
      if (!fitted) return invalid(key, fitted.error());
      base->graph = *std::move(fitted);
    }
    if (auto fits = check_fit(*base, data, ops); !fits) return invalid(key, fits.error());
    bases.push_back(*std::move(base));
  }
  LANISTA_ASSIGN(auto models, make_space_over(config, data, std::move(bases), ops));
  if (config.model.frozen) {
    LANISTA_TRY(frozen_weights(config, models->bases().front().graph, data, folder, fs, ops));
  }
  return models;
}

Result<std::shared_ptr<const mutate::ModelSpace>> make_space_over(const study::StudyConfig& config,
                                                                  const data::DataSpec& data,
                                                                  std::vector<mutate::BaseModel> bases,
                                                                  const graph::OpTable& ops) {
  const auto plugins = mutate::builtin_mutators();
  std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
  for (std::size_t i = 0; i < config.space.mutate.size(); ++i) {
    const study::PluginConfig& wanted = config.space.mutate[i];
    const std::string key = "space.mutate[" + std::to_string(i) + "]";
    LANISTA_ASSIGN(const mutate::MutatorPlugin plugin, find_plugin(plugins, wanted.name, key));
    auto options = resolve_options(wanted.options, plugin.options);
    if (!options) return invalid(key + "." + wanted.name, options.error());
    auto mutator = plugin.make(*options);
    if (!mutator) return invalid(key + "." + wanted.name, mutator.error());
    mutators.push_back(*std::move(mutator));
  }
  using Repair = mutate::RepairPolicy;
  Repair repair;
  const std::string& channels = config.space.repair_channels;
  const std::string& spatial = config.space.repair_spatial;
  repair.channels = channels == "pad"      ? Repair::Channels::kPad
                    : channels == "reject" ? Repair::Channels::kReject
                                           : Repair::Channels::kProject;
  repair.spatial = spatial == "interpolate" ? Repair::Spatial::kInterpolate
                   : spatial == "reject"    ? Repair::Spatial::kReject
                                            : Repair::Spatial::kPool;
  const mutate::Limits limits = limits_of(config);
  if (!config.model.space.is_null()) {
    const mutate::ModelInterface ends =
        mutate::model_interface(data.features, data.width(), data.vocab, data.positions);
    LANISTA_ASSIGN(mutate::BlueprintSpace blueprint, studyfile::make_blueprint(config, ops, ends));
    auto base = bases.empty() ? std::nullopt : std::optional(std::move(bases.front()));
    auto sampled =
        mutate::ModelSpace::make(ops, std::move(blueprint), std::move(base), std::move(mutators), repair, limits);
    if (!sampled) return invalid("model.space", sampled.error());
    LANISTA_TRY(hold_rated(config, *sampled));
    return std::make_shared<const mutate::ModelSpace>(*std::move(sampled));
  }
  auto space = mutate::ModelSpace::make(ops, std::move(bases), std::move(mutators), repair, limits);
  if (!space) return invalid("space", space.error());
  if (config.model.frozen) {
    if (space->bases().size() != 1) {
      return Error{Code::kInvalidArgument, "needs one base model; there are " + std::to_string(space->bases().size()),
                   "model.frozen"};
    }
    LANISTA_ASSIGN(auto nodes, frozen_nodes(config.model.frozen->through, space->bases().front().graph));
    if (auto frozen = space->freeze(std::move(nodes)); !frozen) return invalid("model.frozen.through", frozen.error());
  }
  LANISTA_TRY(hold_rated(config, *space));
  return std::make_shared<const mutate::ModelSpace>(*std::move(space));
}

Result<std::vector<mutate::BaseModel>> stored_bases(const nlohmann::json& models) {
  std::vector<mutate::BaseModel> bases;
  for (const auto& model : models) {
    auto parsed = graph::parse(model.at("graph").get<std::string>());
    if (!parsed) return Error{Code::kDataLoss, "a stored base model cannot be read: " + parsed.error().text(), "log"};
    bases.push_back({model.at("name").get<std::string>(), *std::move(parsed)});
  }
  return bases;
}

namespace {

/// One halving for all trials, or one for those of each fold.
Result<std::unique_ptr<search::Halving>> make_rule(const study::StudyConfig& config) {
  LANISTA_ASSIGN(const auto plugin, find_plugin(search::builtin_stopping_rules(), config.stop.rule, "stop.rule"));
  auto options = resolve_options(config.stop.options, plugin.options);
  if (!options) return invalid("stop", options.error());
  std::vector<std::unique_ptr<search::Halving>> rules;
  const std::int64_t count = config.data.folds ? study::trainings_per_proposal(config) : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    auto rule = plugin.make(
        {config.goals, config.train.length.epochs, config.subject_to, study::selection_rule(config), config.data.rules},
        *options);
    if (!rule) return invalid("stop", rule.error());
    rules.push_back(*std::move(rule));
  }
  if (count == 1 || rules.front() == nullptr) return std::move(rules.front());
  return search::halving_per_fold(std::move(rules));
}

}  // namespace

Result<search::Context> strategy_context(const study::StudyConfig& config,
                                         std::shared_ptr<const mutate::ModelSpace> models) {
  space::SearchSpace params = config.space.params;
  for (space::Parameter& choice : models->parameters()) {
    if (auto added = params.add(std::move(choice)); !added) return invalid("model.space", added.error());
  }
  search::Context context{std::move(models), std::move(params), config.goals, config.train.length.epochs,
                          Rng(config.run.seed).split("strategy")};
  context.constraints = config.subject_to;
  context.rules = config.data.rules;
  return context;
}

Result<std::unique_ptr<search::Strategy>> make_strategy(const study::StudyConfig& config,
                                                        std::shared_ptr<const mutate::ModelSpace> models,
                                                        const std::optional<study::Earlier>& earlier) {
  LANISTA_ASSIGN(auto rule, make_rule(config));

  LANISTA_ASSIGN(const auto plugin, find_plugin(search::builtin_strategies(), config.strategy.name, "strategy.name"));
  auto options = resolve_options(config.strategy.options, plugin.options);
  if (!options) return invalid("strategy", options.error());
  LANISTA_ASSIGN(const search::Context context, strategy_context(config, std::move(models)));
  const bool repeats = study::trainings_per_proposal(config) > 1 || config.strategy.retry > 0;
  if (auto refusal = search::own_halving_conflict(plugin, config)) return *std::move(refusal);
  if (auto known = study::check_rules(config.implied, context.params.parameters()); !known) {
    return Error{known.error().code, known.error().message, "implied" + known.error().where};
  }
  if (auto refusal = search::early_closing_conflict(config)) return *std::move(refusal);
  if (auto refusal = search::repeated_space_conflict(config)) return *std::move(refusal);
  if (auto refusal = search::second_stage_conflict(config)) return *std::move(refusal);
  auto sampler = plugin.make(context, *options);
  if (!sampler) return invalid("strategy", sampler.error());
  if (auto own = (*sampler)->own_halving()) rule = std::move(own);
  if (earlier) *sampler = search::with_earlier_trials(*std::move(sampler), *earlier, study::selection_rule(config));
  if (const auto list = options->find(search::kEnqueue); list != options->end()) {
    auto first = search::enqueued(context, *list);
    if (!first) return Error{first.error().code, first.error().message, "strategy.enqueue" + first.error().where};
    *sampler = search::with_enqueued_first(*std::move(sampler), *std::move(first));
  }
  if (repeats) *sampler = search::with_repeated_trainings(*std::move(sampler), config);
  // Applied after repetitions, so that averages use the selected epoch of each training.
  *sampler = search::with_selected_epochs(*std::move(sampler), study::selection_rule(config));
  return search::with_second_stage(search::compose(*std::move(sampler), std::move(rule)), config, context.models);
}

const std::string& loss_name(const study::StudyConfig& config, const data::DataSpec& data) {
  return config.train.loss.name == "auto" ? autodiff::default_loss(data.targets().kind).name : config.train.loss.name;
}

Blend blend_of(const data::DataSpec& data) {
  if (data.multilabel) return Blend::kLabels;
  return data.classes > 0 ? Blend::kClasses : Blend::kNumbers;
}

std::uint64_t trial_seed(const study::StudyConfig& config, TrialId trial) {
  return Rng(config.run.seed).split("trial").split(trial.value).key();
}

Result<Job> make_job(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                     graph::Graph model) {
  Job job;
  LANISTA_TRY(data::training_spec(data, trial.proposal.fold));
  job.trial = trial.id;
  job.fold = trial.proposal.fold;
  job.model = std::move(model);
  LANISTA_ASSIGN(job.recipe, study::recipe_of(config, loss_name(config, data), trial.proposal));
  job.recipe.epochs = study::full_epochs(trial.proposal);
  if (!config.train.optimizer.rates.empty()) job.recipe.rates = lr_factors_of(config.train, job.model);
  job.trial_seed = trial_seed(config, trial.id);
  job.data_seed = Rng(config.run.seed).split("data").key();
  job.logical_start = trial.logical_start;
  if (const study::Start* start = study::winning_start(trial)) {
    const bool eased = start->is_chosen_by_engine && config.train.start.rate == study::kEasedRate;
    job.start = *start;
    job.recipe.ease = eased ? std::clamp(1 - start->coverage, kLeastEase, 1.0) : 1.0;
    job.recipe.recalibrate = config.train.start.recalibrate;
  }
  if (!trial.forks.empty()) {
    const study::Fork& last = trial.forks.back();
    const auto own = trial.measurements.begin();
    job.fork = {last.from, {own, own + std::min<std::ptrdiff_t>(last.epoch, std::ssize(trial.measurements))}};
  }
  job.device = trial.device;
  job.keep = study::selection_rule(config);
  if (!job.keep.constraints.empty()) job.sample = trial.proposal.sample;
  return job;
}

Result<std::vector<LineageSegment>> lineage_jobs(const study::StudyView& view, const data::DataSpec& data,
                                                 const study::TrialView& trial, std::int64_t epochs,
                                                 const graph::Graph& model) {
  std::vector<LineageSegment> out;
  for (const study::LineageSegment& lineage_segment : study::lineage(view, trial, epochs)) {
    study::TrialView as_it_was = view.trials.at(lineage_segment.trial.value - 1);
    as_it_was.proposal.sample = lineage_segment.sample;
    std::erase_if(as_it_was.forks, [&](const study::Fork& fork) { return fork.epoch > lineage_segment.from; });
    LANISTA_ASSIGN(Job job, make_job(view.config, data, as_it_was, model));
    out.push_back({std::move(job), lineage_segment.through});
  }
  return out;
}

Result<space::Sample> selection_inputs(const Job& job, const graph::OpTable& ops) {
  space::Sample known = job.sample;
  const auto asks_for = [&](std::string_view name) {
    return std::ranges::any_of(job.keep.constraints, [&](const study::Constraint& constraint) {
      return std::ranges::find(constraint.names(), name) != constraint.names().end();
    });
  };
  if (!asks_for("params") && !asks_for("flops")) return known;
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(job.model, ops));
  known["params"] = static_cast<double>(cost.parameters);
  known["flops"] = cost.forward.flops;
  return known;
}

std::int64_t trials_per_request(const study::StudyConfig& config) {
  constexpr std::int64_t kToChooseFrom = 64;
  if (config.strategy.group > 0) return config.strategy.group;
  const bool orders = config.strategy.order != study::kAsGiven && !config.implied.empty();
  if (!orders || config.stop.rule != "none") return 1;
  const auto plugin = find_plugin(search::builtin_strategies(), config.strategy.name, "strategy.name");
  return plugin && !plugin->learns_from_results ? kToChooseFrom : 1;
}

std::int64_t batch_size_of(const study::StudyConfig& config, const data::DataSpec& data, const space::Sample& sample) {
  const std::int64_t rows = std::max<std::int64_t>(1, data.split_rows[0]);
  if (!sample.contains("batch")) return std::min(config.data.batch, rows);
  // An invalid recipe fails when the trial starts.
  const auto recipe = study::make_recipe(config, "", sample);
  return std::min(recipe ? recipe->batch : config.data.batch, rows);
}

study::EpochSchedule epoch_schedule_of(const study::StudyConfig& config, const data::DataSpec& data,
                                       const space::Sample& sample) {
  study::Recipe recipe;
  recipe.batch = batch_size_of(config, data, sample);
  recipe.steps_per_epoch = config.train.length.steps_per_epoch.value_or(0);
  recipe.steps = config.train.length.steps.value_or(0);
  recipe.all_rows_at = config.train.length.all_rows_at.value_or(1);
  return study::epoch_schedule_of(recipe, data.split_rows[0]);
}

std::int64_t min_trial_steps(const study::StudyConfig& config, const data::DataSpec& data) {
  const auto& params = config.space.params.parameters();
  const bool sampled = std::ranges::find(params, "batch", &space::Parameter::name) != params.end();
  study::EpochSchedule epochs = epoch_schedule_of(config, data, {});
  if (sampled && !config.train.length.steps_per_epoch) epochs.length = epochs.all_rows_at = 1;
  return epochs.steps_through(config.train.length.epochs);
}

}  // namespace lanista::engine
