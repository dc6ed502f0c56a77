#include "lanista/io/studyfile/tuning.h"

#include <algorithm>
#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/tuning_space.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::studyfile {
namespace {

constexpr const char* kEnd = "end";
constexpr const char* kScheduleKey = "train.schedule";

bool plays_back(const study::PluginConfig& tune) { return tune.name == study::kReplaySchedule; }
bool searches(const study::PluginConfig& tune) { return !plays_back(tune) && tune.name != study::kAdaptive; }

OptionSpec end_option(std::int64_t usual, const char* help) {
  return number_option(kEnd, OptionSpec::Kind::kInt, usual, 1, 1e6, help);
}

}  // namespace

std::vector<OptionSpec> mltuner_strategy_options() {
  std::vector<OptionSpec> options = study::builtin_tuners().front().options;
  options.push_back(end_option(kDefaultEndEpochs, "epochs without an improvement after which a trial ends"));
  return options;
}

std::vector<OptionSpec> second_stage_options() {
  const study::SecondStage usual;
  return {count_option("best", usual.best, 1, "number of best trials of the search that are trained again"),
          end_option(usual.end, "epochs without an improvement after which a refinement ends")};
}

std::vector<study::TunePlugin> second_stage_tuners() {
  std::vector<study::TunePlugin> out = study::builtin_tuners();
  std::erase_if(out, [](const study::TunePlugin& plugin) { return !searches({plugin.name, {}}); });
  return out;
}

Result<void> check_tuner(const std::string& name, const Options& options, std::int64_t rules) {
  if (name == study::kReplaySchedule) {
    if (options.at("from") != "" && options.at("settings").empty()) return {};  // read when the study's folder is known
    LANISTA_TRY(study::read_schedule(options));
    return {};
  }
  if (name == study::kAdaptive) {  // whether the first batch fits is checked when everything is read
    if (options.at("most").is_number_integer()) return {};
    return Error{Code::kInvalidArgument, "is missing: the largest batch that the trial may come to", "most"};
  }
  LANISTA_TRY(tune_space(options, rules));
  LANISTA_TRY(study::tune_rules(study::PluginConfig{name, options}));
  return {};
}

study::PluginConfig with_normalized_ranges(study::PluginConfig tune, std::int64_t rules) {
  if (!searches(tune)) return tune;
  const auto space = tune_space(tune.options, rules);
  if (!space) return tune;
  for (const space::Parameter& parameter : space->parameters()) {
    if (tune.options.at("params").at(parameter.name).is_string()) {
      tune.options["params"][parameter.name] = explicit_domain_text(parameter.domain);
    }
  }
  return tune;
}

study::PluginConfig replayed_schedule(const std::string& folder) {
  return {std::string(study::kReplaySchedule), {{"settings", nlohmann::json::array()}, {"from", folder}}};
}

std::optional<Error> tuning_conflict(const study::StudyConfig& config) {
  const study::TrainConfig& train = config.train;
  const auto refusal = [](const char* where, const std::string& message) {
    return Error{Code::kInvalidArgument, message, where};
  };
  if (train.tune.name == study::kAdaptive) {
    if (!train.select.name.empty()) {
      return refusal("data.batch",
                     "adaptive(…) does not fit train.select: selected examples differ from those "
                     "of which it would measure the noise; leave out one of the two");
    }
    if (const auto why = study::batch_tuning_conflict(config, train.tune)) {
      return refusal("data.batch", "adaptive(…)" + std::string(why->starts_with("most ") ? ": " : " ") + *why);
    }
    return std::nullopt;
  }
  if (!train.select.name.empty()) {
    return refusal("train.tune", "does not go with train.select: losses of chosen examples cannot be compared");
  }
  if (const auto why = study::batch_tuning_conflict(config, train.tune)) return refusal("train.tune", *why);
  if (!study::tunes_rate(train.tune)) return std::nullopt;
  if (train.schedule.name != "constant" || train.schedule.warmup_epochs > 0) {
    return refusal("train.tune", "changes the learning rate itself; train.schedule must be constant, without warm-up");
  }
  const auto& varied = config.space.params.parameters();
  for (const char* name : {"schedule", "warmup_epochs"}) {
    if (std::ranges::find(varied, name, &space::Parameter::name) == varied.end()) continue;
    return refusal("train.tune",
                   "changes the learning rate itself; " + std::string(name) + " cannot vary in addition to it");
  }
  return std::nullopt;
}

Result<void> expand_mltuner_strategy(study::StudyConfig& config, bool has_bound) {
  LANISTA_ASSIGN(Options options, resolve_options(config.strategy.options, mltuner_strategy_options()));
  const nlohmann::json end = options.at(kEnd);
  options.erase(kEnd);
  LANISTA_TRY(check_tuner(std::string(kMltuner), options, config.data.rules));
  config.train.tune = with_normalized_ranges({std::string(kMltuner), std::move(options)}, config.data.rules);
  config.strategy.name = "random";
  config.strategy.options = {{"again", true}};
  const bool again = !search::repeated_space_conflict(config);  // else other settings train it several times
  if (!again) config.strategy.options = Options::object();
  config.stop.rule = "patience";
  config.stop.options = {{"epochs", end}};
  const std::int64_t models = std::max<std::int64_t>(1, std::ssize(config.model.base));
  if (!has_bound) config.budget.trials = again ? kTrialsPerModel * models : models;
  return {};
}

Result<void> embed_schedule(study::StudyConfig& config, const std::string& folder, FileSystem& fs) {
  study::PluginConfig& tune = config.train.tune;
  if (!plays_back(tune)) return {};
  const auto source = tune.options.value("from", std::string());
  if (source.empty()) return {};
  const std::string at = source.starts_with("/") || folder.empty() ? source : folder + "/" + source;
  std::string path = at + "/package.json";
  if (!fs.exists(path)) path = at + "/best/package.json";
  if (!fs.exists(path)) {
    return Error{Code::kNotFound, "'" + source + "' has no package.json, nor has its best/", kScheduleKey};
  }
  LANISTA_ASSIGN(const std::string text, fs.read(path, 0));
  const auto package = nlohmann::json::parse(text, nullptr, false);
  if (!package.is_object() || !package.contains("schedule")) {
    return Error{Code::kInvalidArgument,
                 "the model of '" + source + "' was trained under one setting: it has no schedule", kScheduleKey};
  }
  Options options{{"settings", package.at("schedule")}, {"from", ""}};
  if (auto good = study::read_schedule(options); !good) {
    return Error{good.error().code, "the schedule of '" + source + "': " + good.error().message, kScheduleKey};
  }
  tune.options = std::move(options);
  return {};
}

}  // namespace lanista::studyfile
