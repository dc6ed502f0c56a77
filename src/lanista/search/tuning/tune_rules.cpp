// Options of tune searches, and the schedules that searches have found.
#include "lanista/search/tuning/tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/edit_distance.h"
#include "lanista/base/option_specs.h"
#include "lanista/base/real_json.h"
#include "lanista/model/space/quantum_grid.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::study {
namespace {

constexpr double kMaxTryLength = 1e9;
constexpr const char* kBatch = "batch";

std::vector<OptionSpec> mltuner_options() {
  using Kind = OptionSpec::Kind;
  OptionSpec searcher = option("searcher", Kind::kText, "sobol", "sampler of settings");
  searcher.allowed = {"random", "grid", "sobol", "tpe", "gp"};
  return {
      option("params", Kind::kMap, nullptr,
             "settings to tune: lr, momentum, weight_decay, …, in the notation of space.params"),
      searcher,
      number_option("diverged", Kind::kReal, 10.0, 1, 1e300,
                    "factor of the start loss above which a branch has diverged"),
      number_option("time", Kind::kInt, 4, 0, kMaxTryLength, "least steps of the first branches"),
      number_option("trials", Kind::kInt, 30, 1, 10'000, "most branches of a search"),
      number_option("together", Kind::kInt, 8, 1, 64, "branches that start together"),
      number_option("halving", Kind::kInt, 2, 2, 64, "one of this many branches continues, this many times as long"),
      number_option("retune", Kind::kInt, 2, 0, 1e6,
                    "epochs without an improvement after which the trial searches again; 0: never"),
      number_option("age", Kind::kReal, 0.25, 0, 1,
                    "least wait before a later search, as a share of the epochs so far"),
      option("on", Kind::kText, "", "metric that must improve; empty: val_accuracy, else val_loss"),
      number_option("reach", Kind::kReal, 20.0, 0, 1e9,
                    "largest factor between the current setting and those of later searches, in log ranges; up to "
                    "1: the whole range")};
}

std::vector<OptionSpec> schedule_options() {
  using Kind = OptionSpec::Kind;
  return {option("settings", Kind::kMapList, nlohmann::json::array(),
                 "settings by rising step: a list of {step: 0, lr: 0.1, …}, as in package.json"),
          option("from", Kind::kText, "",
                 "folder of a study or a package; the schedule of its winner is read "
                 "instead of settings")};
}

/// Appends a number, or the numbers in a list.
void add_numbers(const nlohmann::json& value, std::vector<double>& out) {
  if (value.is_number()) out.push_back(value.get<double>());
  if (!value.is_array()) return;
  for (const nlohmann::json& each : value) add_numbers(each, out);
}

/// Returns the batches that a trial may have later, in addition to its first one.
std::vector<double> later_batches(const PluginConfig& tune) {
  std::vector<double> out;
  if (tune.name == kAdaptive && tune.options.contains("most")) add_numbers(tune.options.at("most"), out);
  if (const auto params = tune.options.find("params"); params != tune.options.end() && params->contains(kBatch)) {
    add_numbers(params->at(kBatch), out);
  }
  const auto settings = tune.options.find("settings");
  if (settings == tune.options.end() || !settings->is_array()) return out;
  for (const nlohmann::json& each : *settings) {
    if (each.contains(kBatch)) add_numbers(each.at(kBatch), out);
  }
  return out;
}

}  // namespace

std::int64_t largest_batch(const Recipe& recipe) {
  double most = static_cast<double>(recipe.batch);
  for (const double each : later_batches(recipe.tune)) most = std::max(most, each);
  return static_cast<std::int64_t>(std::min(most, static_cast<double>(kMaxBatch)));
}

Result<void> check_batches(const Recipe& recipe) {
  if (recipe.tune.name == kAdaptive) {
    LANISTA_TRY(adaptive_batch_rules(recipe));
    return {};
  }
  for (const double each : later_batches(recipe.tune)) {
    if (each >= 1 && std::fmod(each, static_cast<double>(recipe.batch)) == 0) continue;
    const bool is_whole = std::abs(each) < kMaxTryLength && each == std::floor(each);
    const std::string text = is_whole ? std::to_string(static_cast<std::int64_t>(each)) : real_json(each).dump();
    return Error{Code::kInvalidArgument,
                 "a batch of " + text + " is no multiple of " + std::to_string(recipe.batch) +
                     ", the batch that the trial begins with (data.batch): a larger one reads whole batches of it",
                 kBatch};
  }
  return {};
}

std::optional<std::string> batch_tuning_conflict(const StudyConfig& config, const PluginConfig& tune) {
  if (later_batches(tune).empty()) return std::nullopt;
  const auto& varied = config.space.params.parameters();
  if (std::ranges::find(varied, kBatch, &space::Parameter::name) != varied.end()) {
    return "changes the batch size itself; batch cannot vary in addition to it";
  }
  Recipe first;
  first.batch = config.data.batch;
  first.tune = tune;
  const auto fits = check_batches(first);
  if (fits) return std::nullopt;
  return (tune.name == kAdaptive ? fits.error().where + " " : "") + fits.error().message;
}

const std::vector<std::string>& tunable_names() {
  static const std::vector<std::string> names{"lr",  "momentum",  "weight_decay",    "beta1", "beta2",
                                              "eps", "clip_norm", "label_smoothing", kBatch};
  return names;
}

Result<void> check_tunable(std::string_view name) {
  const std::vector<std::string>& names = tunable_names();
  if (std::ranges::find(names, name) != names.end()) return {};
  std::string all;
  for (const std::string& each : names) all += (all.empty() ? "" : ", ") + each;
  const std::string near = nearest_name(std::string(name), names);
  return Error{Code::kInvalidArgument,
               "'" + std::string(name) + "' cannot change while a trial trains; what can: " + all +
                   (near.empty() ? "" : "; did you mean '" + near + "'?"),
               std::string(name)};
}

const std::vector<TunePlugin>& builtin_tuners() {
  static const std::vector<TunePlugin> tuners{
      {"mltuner", "tries settings on branches of the trial and continues from the best", mltuner_options()},
      {std::string(kReplaySchedule), "replays the settings that a search has found", schedule_options()},
      {std::string(kAdaptive),
       "measures gradient noise in training and selects the batch by it (data.batch: adaptive(…))",
       adaptive_options()}};
  return tuners;
}

bool tunes_rate(const PluginConfig& tune) {
  if (tune.name == kReplaySchedule) return true;
  const auto params = tune.options.find("params");
  return params != tune.options.end() && params->contains("lr");
}

std::vector<SettingAt> schedule_of(std::span<const Measurement> measurements) {
  std::vector<SettingAt> schedule;
  for (const Measurement& measurement : measurements) {
    for (const Branch& branch : measurement.branches) {
      if (branch.kept) schedule.push_back({branch.step, branch.setting});
    }
  }
  return schedule;
}

PluginConfig replay_schedule(const std::vector<SettingAt>& schedule) {
  auto settings = nlohmann::json::array();
  for (const SettingAt& each : schedule) {
    nlohmann::json item{{"step", each.step}};
    for (const auto& [name, value] : each.setting) item[name] = space::value_json(value);
    settings.push_back(std::move(item));
  }
  return {std::string(kReplaySchedule), {{"settings", std::move(settings)}}};
}

Result<std::vector<SettingAt>> read_schedule(const Options& options) {
  std::vector<SettingAt> schedule;
  const auto wrong = [&](const std::string& message) {
    return Error{Code::kInvalidArgument, "entry " + std::to_string(schedule.size() + 1) + ": " + message, "settings"};
  };
  if (const auto from = options.find("from"); from != options.end() && *from != "") {
    return Error{Code::kInvalidArgument, "the schedule of " + from->dump() + " was not read", "from"};
  }
  const auto settings = options.find("settings");
  if (settings == options.end() || !settings->is_array()) return wrong("it must be a list of settings");
  for (const nlohmann::json& item : *settings) {
    SettingAt at;
    if (!item.is_object() || !item.contains("step") || !item.at("step").is_number_integer()) {
      return wrong("'step' is missing; it is the first step with these settings");
    }
    at.step = item.at("step").get<std::int64_t>();
    const std::int64_t before = schedule.empty() ? -1 : schedule.back().step;
    if (at.step <= before)
      return wrong("step " + std::to_string(at.step) + " must be above step " + std::to_string(before));
    for (const auto& [name, value] : item.items()) {
      if (name == "step") continue;
      if (const auto known = check_tunable(name); !known) return wrong(known.error().message);
      if (!value.is_number()) return wrong("'" + name + "' is " + value.dump() + "; it must be a number");
      at.setting[name] = value.get<double>();
    }
    schedule.push_back(std::move(at));
  }
  return schedule;
}

Result<TuneRules> tune_rules(const Recipe& recipe) {
  LANISTA_ASSIGN(TuneRules rules, tune_rules(recipe.tune));
  LANISTA_TRY(check_batches(recipe));
  const std::int64_t most = largest_batch(recipe);
  if (most > recipe.batch) rules.steps_per_update = most / recipe.batch;
  return rules;
}

TuneRules rules_for_search(TuneRules rules, bool is_first, std::int64_t longer) {
  rules.time *= longer;
  if (!is_first && rules.steps_per_update > 1) rules.time = std::max(rules.time, 2 * rules.steps_per_update);
  return rules;
}

namespace {

/// Returns the least value of a grid that begins at the lower bound which is not below `least`; else the last value.
double value_not_below(const space::FloatRange& range, double least) {
  const std::int64_t nearest = space::nearest_factor(range, least);
  const double value = space::quantum_value(range, nearest);
  return value >= least ? value : space::quantum_value(range, std::min(nearest + 1, space::quantum_grid(range).last));
}

}  // namespace

space::SearchSpace narrowed_space(const space::SearchSpace& space, const space::Sample& now, double reach) {
  space::SearchSpace near;
  for (space::Parameter parameter : space.parameters()) {
    if (const auto* range = std::get_if<space::FloatRange>(&parameter.domain); range != nullptr && range->log) {
      const double at = std::get<double>(now.at(parameter.name));
      space::FloatRange cut = *range;
      cut.lo = std::max(range->lo, at / reach);
      cut.hi = std::min(range->hi, at * reach);
      if (range->from_lo) cut.lo = value_not_below(*range, cut.lo);
      if (cut.lo < cut.hi && space::check_domain(cut)) parameter.domain = cut;
    }
    const auto added = near.add(std::move(parameter));
    LANISTA_CHECK(added.ok(), added ? "" : added.error().message);
  }
  return near;
}

Result<TuneRules> tune_rules(const PluginConfig& tune) {
  const auto& plugin = builtin_tuners().front();
  if (tune.name != plugin.name) {
    return Error{Code::kInvalidArgument, "'" + tune.name + "' searches nothing; known: " + plugin.name, "train.tune"};
  }
  LANISTA_ASSIGN(const Options options, resolve_options(tune.options, plugin.options));
  TuneRules rules;
  rules.searcher = options.at("searcher").get<std::string>();
  rules.diverged = options.at("diverged").get<double>();
  rules.time = options.at("time").get<std::int64_t>();
  rules.trials = options.at("trials").get<std::int64_t>();
  rules.parallel_tries = options.at("together").get<std::int64_t>();
  rules.halving = options.at("halving").get<std::int64_t>();
  rules.retune = options.at("retune").get<std::int64_t>();
  rules.age = options.at("age").get<double>();
  rules.reach = options.at("reach").get<double>();
  rules.on = options.at("on").get<std::string>();
  return rules;
}

}  // namespace lanista::study
