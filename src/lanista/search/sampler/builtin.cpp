#include "lanista/search/sampler/builtin.h"

#include <algorithm>

#include "lanista/search/sampler/enqueued.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/trainings.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::search {
namespace {

class NoHalving final : public Halving {
 public:
  void observe(const study::Event&) override {}
  TrialVerdict verdict(TrialId) const override { return kContinueToBudget; }
};

}  // namespace

StoppingPlugin no_stopping_plugin() {
  return {"none",
          "each trial trains to its budget",
          {},
          [](const HalvingContext&, const Options&) -> Result<std::unique_ptr<Halving>> {
            return std::unique_ptr<Halving>(std::make_unique<NoHalving>());
          }};
}

namespace {

/// Returns an error if a setting cannot be used with a strategy that forks. A state fits only trials of one program,
/// and weights of an earlier epoch may belong to another line of states.
std::optional<Error> fork_conflict(const StrategyPlugin& plugin, const study::StudyConfig& config) {
  const auto refuse = [&](const std::string& key, const std::string& what) {
    return Error{Code::kInvalidArgument, what, key};
  };
  if (config.train.measured.keep != study::kKeepLast) {
    return refuse("train.keep", "is '" + config.train.measured.keep + "'; with strategy " + plugin.name +
                                    " trials continue from each other's states, so it must be " +
                                    std::string(study::kKeepLast) + " or left out");
  }
  if (config.train.tune.name == study::kAdaptive) {
    return refuse("data.batch", "is adaptive(…), and strategy " + plugin.name +
                                    " gives trials other settings whenever they fork; leave out one of the two");
  }
  if (!config.train.tune.name.empty()) {
    return refuse("train.tune", "has trials find their own settings, and strategy " + plugin.name +
                                    " gives them others whenever they fork; leave out one of the two");
  }
  if (config.strategy.options.value("fixed", "refuse") == "keep") return std::nullopt;
  const std::string otherwise = " (strategy.fixed: keep has members fork among those that agree in it)";
  const std::string one = "; strategy " + plugin.name + " trains one model, since a state fits no other" + otherwise;
  if (config.model.base.size() > 1 && config.model.space.is_null()) {
    return refuse("model.base", "has " + std::to_string(config.model.base.size()) + " models" + one);
  }
  if (!config.model.space.is_null()) return refuse("model.space", "has many models" + one);
  if (!config.space.mutate.empty()) return refuse("space.mutate", "changes the model" + one);
  std::string can;
  for (const std::string& name : study::sample_names()) {
    if (study::can_change_in_training(name)) can += (can.empty() ? "" : ", ") + name;
  }
  for (const space::Parameter& parameter : config.space.params.parameters()) {
    if (study::can_change_in_training(parameter.name)) continue;
    if (space::domain_size(parameter.domain) == 1) continue;  // a constant does not change
    const std::string key = parameter.name == "batch" ? "data.batch" : "train." + parameter.name;
    return refuse("space.params", "'" + parameter.name + "' cannot change while a trial trains, as strategy " +
                                      plugin.name + " requires; set one value with " + key + "; what can: " + can +
                                      otherwise);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> own_halving_conflict(const StrategyPlugin& plugin, const study::StudyConfig& config) {
  if (!plugin.has_own_halving) return std::nullopt;
  const auto refuse = [&](const std::string& key, const std::string& seen, const std::string& allowed) {
    return Error{Code::kInvalidArgument, "is " + seen + "; strategy " + plugin.name + " " + allowed, key};
  };
  if (config.stop.rule != "none") {
    return refuse("stop.rule", "'" + config.stop.rule + "'",
                  "decides itself how far trials train, so it must be none or left out");
  }
  const std::string once = "trains every proposal once, so it must be ";
  if (config.strategy.repeat > 1) return refuse("strategy.repeat", std::to_string(config.strategy.repeat), once + "1");
  if (config.strategy.retry > 0) return refuse("strategy.retry", std::to_string(config.strategy.retry), once + "0");
  if (config.data.folds) return refuse("data.folds", std::to_string(*config.data.folds), once + "none");
  return plugin.forks ? fork_conflict(plugin, config) : std::nullopt;
}

std::optional<Error> idle_stopping_rule(const study::StudyConfig& config) {
  // Strategy mltuner sets a rule itself.
  if (config.data.rules == study::kFirstRules || !config.train.tune.name.empty()) return std::nullopt;
  const auto rules = builtin_stopping_rules();
  const auto rule = std::ranges::find(rules, config.stop.rule, &StoppingPlugin::name);
  if (rule == rules.end() || !rule->first_epoch) return std::nullopt;
  const auto options = resolve_options(config.stop.options, rule->options);
  if (!options) return std::nullopt;  // reported where it is read
  const auto [option, first] = rule->first_epoch(*options);
  const std::int64_t epochs = config.train.length.epochs;
  const auto spec = std::ranges::find(rule->options, option, &OptionSpec::name);
  if (first < epochs || options->at(option) == spec->default_value) return std::nullopt;
  return Error{Code::kInvalidArgument,
               option + " is " + options->at(option).dump() + ", and trials have " + std::to_string(epochs) +
                   (epochs == 1 ? " epoch" : " epochs") + " (train.epochs), so stop.rule " + config.stop.rule +
                   " never acts; it must begin below epoch " + std::to_string(epochs) +
                   ": lower it, raise train.epochs, or set stop: none",
               "stop." + option};
}

std::optional<Error> early_closing_conflict(const study::StudyConfig& config) {
  const auto rule = std::ranges::find_if(config.implied, study::closes_rungs);
  if (rule == config.implied.end()) return std::nullopt;
  const std::string where = "implied[" + std::to_string(rule - config.implied.begin()) + "].when";
  const auto refuse = [&](const std::string& why) {
    return Error{Code::kInvalidArgument, "'" + rule->when + "' " + why, where};
  };
  std::string waiting;
  bool judges_whole_rungs = false;
  for (const StoppingPlugin& plugin : builtin_stopping_rules()) {
    if (plugin.judges_whole_rungs) waiting += (waiting.empty() ? "" : " or ") + plugin.name;
    judges_whole_rungs = judges_whole_rungs || (plugin.judges_whole_rungs && plugin.name == config.stop.rule);
  }
  if (!judges_whole_rungs) {
    return refuse("needs rungs with trials that wait for each other, stop.rule " + waiting + "; it is " +
                  config.stop.rule);
  }
  if (config.train.measured.keep != study::kKeepBestEpoch) {
    return refuse("needs train.keep " + std::string(study::kKeepBestEpoch) +
                  ": the result of a trial must not get worse; it is " + config.train.measured.keep);
  }
  if (study::trainings_per_proposal(config) > 1)
    return refuse("needs one training per proposal, because several are compared by their mean");
  if (config.keep.ensemble > 0) {
    return refuse("leaves the second place open, which keep.ensemble needs; leave out one of the two");
  }
  if (config.goals.empty()) return std::nullopt;  // The goals are known when the data are read.
  const std::string on = config.stop.options.value("on", "");
  if (config.goals.size() > 1 || (!on.empty() && on != config.goals.front().metric)) {
    return refuse("needs one goal, by which rungs are judged as well");
  }
  if (!study::best_possible(config.goals.front().metric)) {
    return refuse("needs a goal with a best value, such as 1 for accuracy; none is declared for " +
                  config.goals.front().metric);
  }
  if (study::tie_breaking_goal(config)) {
    return refuse("needs train.ties " + std::string(study::kTiesToEarlier) +
                  ": of two trials with the best goal value one could still have the lower loss; it is " +
                  config.train.measured.ties);
  }
  return std::nullopt;
}

std::vector<StrategyPlugin> builtin_strategies() {
  std::vector<StrategyPlugin> all{random_plugin(),         grid_plugin(), evolution_plugin(), nsga2_plugin(),
                                  cmaes_plugin(),          gp_plugin(),   sobol_plugin(),     tpe_plugin(),
                                  bohb_plugin(),           dehb_plugin(), pbt_plugin(),       local_search_plugin(),
                                  policy_gradient_plugin()};
  for (StrategyPlugin& plugin : all) plugin.options.push_back(enqueue_option());
  return all;
}

std::vector<StoppingPlugin> builtin_stopping_rules() {
  return {no_stopping_plugin(), asha_plugin(),     hyperband_plugin(), successive_halving_plugin(),
          median_plugin(),      patience_plugin(), curve_plugin()};
}

std::vector<study::Goal> comparison_goals(const std::vector<study::Goal>& goals, const std::string& metric) {
  if (metric.empty()) return goals;
  const auto goal = std::ranges::find(goals, metric, &study::Goal::metric);
  if (goal != goals.end()) return {*goal};
  return {{study::more_is_better(metric).value_or(false), metric}};
}

Result<study::Goal> curve_goal(const HalvingContext& judged, const Options& options, const std::string& rule) {
  for (const study::Goal& goal : comparison_goals(judged.goals, options.at("on").get<std::string>())) {
    if (study::is_metric(goal.metric)) return goal;
  }
  return Error{Code::kInvalidArgument, rule + " needs a goal that is measured in training, or another metric", "on"};
}

}  // namespace lanista::search
