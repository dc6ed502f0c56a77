#include "lanista/io/studyfile/tuning_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lanista/base/text_cursor.h"
#include "lanista/io/studyfile/plugin_reader.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::studyfile {
namespace {

void add_duplicate_setting(const YAML::Node& node, const std::string& path, const study::StudyConfig& config,
                           Mistakes& mistakes) {
  if (config.train.tune.name == study::kAdaptive) {
    return mistakes.add(
        node, path,
        "sets what changes in training, as data.batch: adaptive(…) does, which is train.tune: {adaptive: "
        "{most: …}} in short; leave out one");
  }
  mistakes.add(node, path,
               "train.tune and train.schedule: {from: DIR} both set what changes in training; leave out one");
}

/// Returns the check of a tuner beyond its schema.
auto options_check(const study::StudyConfig& config) {
  return [rules = config.data.rules](const study::TunePlugin& plugin, const Options& options) {
    return check_tuner(plugin.name, options, rules);
  };
}

}  // namespace

void read_tune(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes) {
  if (node.IsNull() || (node.IsScalar() && node.Scalar() == "none")) return;
  if (!config.train.tune.name.empty()) return add_duplicate_setting(node, path, config, mistakes);
  std::vector<study::PluginConfig> read;
  read_plugin(node, path, study::builtin_tuners(), read, mistakes, options_check(config));
  if (!read.empty()) config.train.tune = with_normalized_ranges(std::move(read.front()), config.data.rules);
}

void read_adaptive(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes) {
  std::string_view text = node.Scalar();
  const auto wrong = [&] {
    std::string seen = node.Scalar();
    std::ranges::replace(seen, ';', ',');  // undoes protect_calls
    mistakes.add(node, path,
                 "'" + seen +
                     "' is not allowed; adaptive(FROM, MOST) is wanted, such as adaptive(32, 512), or "
                     "adaptive(MOST), with FROM " +
                     std::to_string(study::DataConfig{}.batch));
  };
  text.remove_prefix(kAdaptiveCall.size());
  if (!text.ends_with(')')) return wrong();
  text.remove_suffix(1);
  TextCursor cursor(text, " ");
  std::vector<std::int64_t> values;
  do {
    cursor.skip_blanks();
    const auto value = cursor.number<std::int64_t>(1);
    if (!value || *value > study::kMaxBatch) return wrong();
    values.push_back(*value);
  } while (cursor.accept(";") || cursor.accept(","));
  if (!cursor.rest().empty() || values.size() > 2) return wrong();
  if (!config.train.tune.name.empty()) return add_duplicate_setting(node, path, config, mistakes);
  if (values.size() == 2) config.data.batch = values.front();
  config.train.tune = {std::string(study::kAdaptive),
                       *resolve_options({{"most", values.back()}}, study::adaptive_options())};
}

void read_schedule_source(const YAML::Node& node, const std::string& path, study::StudyConfig& config,
                          Mistakes& mistakes) {
  if (!config.train.tune.name.empty()) return add_duplicate_setting(node, path, config, mistakes);
  const YAML::Node from = find_key(node, "from");
  if (!from || node.size() != 1 || !from.IsScalar() || from.Scalar().empty()) {
    return mistakes.add(node, path, "a schedule's name, or {from: DIR} with the folder of the study to replay");
  }
  config.train.tune = replayed_schedule(from.Scalar());
}

void read_then(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes) {
  if (node.IsNull() || (node.IsScalar() && node.Scalar() == "none")) return;
  const auto tuners = second_stage_tuners();
  const std::string wanted = join(plugin_names(tuners)) + ": {params: {…}}";
  if (!node.IsMap()) return mistakes.add(node, path, "a mapping {" + wanted + ", best: 1} is wanted here");
  const std::vector<OptionSpec> own = second_stage_options();
  std::vector<std::string> known = plugin_names(tuners);
  for (const OptionSpec& option : own) known.push_back(option.name);
  std::vector<study::PluginConfig> read;
  Options given = Options::object();
  for (const auto& item : node) {
    const auto key = item.first.as<std::string>();
    const auto option = std::ranges::find(own, key, &OptionSpec::name);
    if (std::ranges::find(known, key) == known.end()) {
      mistakes.unknown(item.first, path + "." + key, key, known);
    } else if (option == own.end()) {
      add_plugin(item.first, path, key, item.second.IsNull() ? nlohmann::json::object() : mistakes.to_json(item.second),
                 tuners, read, mistakes, options_check(config));
    } else if (auto value = resolve_options({{key, mistakes.to_json(item.second)}}, {*option})) {
      given[key] = value->at(key);
    } else {
      mistakes.add(item.second, path + "." + key, value.error().message);
    }
  }
  if (!mistakes.empty()) return;
  if (read.empty()) return mistakes.add(node, path, "is missing: " + wanted + ", what its trials tune themselves by");
  auto& then = config.strategy.then.emplace();
  then.tune = with_normalized_ranges(std::move(read.front()), config.data.rules);
  then.best = given.value("best", then.best);
  then.end = given.value("end", then.end);
}

void read_strategy_mltuner(const YAML::Node& root, const std::map<std::string, YAML::Node>& options,
                           study::StudyConfig& config, Mistakes& mistakes) {
  if (config.strategy.name != kMltuner) return;
  const YAML::Node node = find_key(root, "strategy");
  if (config.strategy.then) {
    config.strategy.then.reset();
    mistakes.add(find_key(node, "then"), std::string(study::kThenKey),
                 "goes behind a search, and strategy mltuner tunes base models without one; leave it out, or name a "
                 "strategy that searches, such as random");
  }
  const YAML::Node budget = find_key(root, "budget");
  if (!config.train.tune.name.empty()) {
    return mistakes.add(node, "strategy.name", "mltuner is set twice, here and by train.tune");
  }
  if (!config.space.mutate.empty() || !config.model.space.is_null()) {
    return mistakes.add(node, "strategy.name",
                        "mltuner tunes base models; for models that a search finds, train.tune goes with its strategy");
  }
  const YAML::Node stop = find_key(root, "stop");
  if (stop && config.strategy.options.contains("end")) {
    return mistakes.add(stop, "stop", "a trial's end is set twice, here and by strategy.end");
  }
  const study::StopConfig given = config.stop;
  auto tuned = expand_mltuner_strategy(config, budget && budget.IsMap() && budget.size() > 0);
  if (stop) config.stop = given;
  const YAML::Node train = find_key(root, "train");
  const bool has_length = train && train.IsMap() && (find_key(train, "epochs") || find_key(train, "steps"));
  if (!stop && !has_length) config.train.length.epochs = kDefaultMaxEpochs;
  if (tuned) return;
  const auto culprit = options.find(tuned.error().where.substr(0, tuned.error().where.find('.')));
  mistakes.add(culprit == options.end() ? node : culprit->second, "strategy." + tuned.error().where,
               tuned.error().message);
}

void check_tune(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes) {
  if (config.train.tune.name.empty()) return;
  const YAML::Node train = find_key(root, "train");
  const YAML::Node tune = train ? find_key(train, "tune") : train;
  const auto refused = tuning_conflict(config);
  if (!refused) return;
  const YAML::Node data = find_key(root, "data");
  const YAML::Node batch = data && data.IsMap() ? find_key(data, "batch") : data;
  const bool is_batch = refused->where == "data.batch" && batch;
  mistakes.add(is_batch ? batch : tune ? tune : train, refused->where, refused->message);
}

}  // namespace lanista::studyfile
