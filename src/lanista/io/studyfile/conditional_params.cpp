#include "lanista/io/studyfile/conditional_params.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lanista/io/studyfile/notation.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::studyfile {
namespace {

constexpr std::string_view kOptimizer = "optimizer", kMomentum = "momentum", kNesterov = "nesterov";

/// The values that are listed for a parameter, as a value, a list, a choice or the keys of a map; nullopt: a range.
std::optional<std::vector<space::Value>> listed_values(const YAML::Node& node, std::int64_t rules) {
  std::vector<space::Value> values;
  if (node.IsMap()) {
    for (const auto& branch : node) values.push_back(parse_value(branch.first.as<std::string>()));
  } else if (node.IsSequence()) {
    for (const auto& item : node) values.push_back(parse_value(item.IsScalar() ? item.Scalar() : ""));
  } else if (node.IsScalar()) {
    const auto domain = parse_domain(node.Scalar(), rules);
    if (!domain) return std::vector{parse_value(node.Scalar())};
    const auto* choice = *domain ? std::get_if<space::Categorical>(&**domain) : nullptr;
    if (choice == nullptr) return std::nullopt;
    values = choice->values;
  }
  return values;
}

std::vector<std::string> optimizers_of(const YAML::Node& params, const study::StudyConfig& config) {
  const YAML::Node node = find_key(params, std::string(kOptimizer));
  if (!node) return {config.train.optimizer.name};
  std::vector<std::string> names;
  for (const space::Value& value : listed_values(node, config.data.rules).value_or(std::vector<space::Value>{})) {
    names.push_back(space::value_text(value));
  }
  return names;
}

bool is_zero(const space::Value& value) { return space::value_text(value) == "0"; }

/// Adds the conditions of `nesterov` where the only optimiser is one that reads it, so that the momentum has no
/// condition of its own. A momentum of a range is above 0 in all but a few trials.
void add_nesterov(const YAML::Node& params, const YAML::Node& key, const YAML::Node& domain,
                  const study::StudyConfig& config, std::vector<ConditionalParam>& out, Mistakes& mistakes) {
  std::optional<std::vector<space::Value>> values{{config.train.optimizer.momentum.value_or(1.0)}};
  const YAML::Node momentum = find_key(params, std::string(kMomentum));
  if (momentum) values = listed_values(momentum, config.data.rules);
  if (!values || values->empty() || std::ranges::none_of(*values, is_zero)) return;
  const auto forms = listed_values(domain, config.data.rules);
  if (forms && std::ranges::none_of(*forms, [](const auto& form) { return form == space::Value(true); })) return;
  if (std::ranges::all_of(*values, is_zero)) {
    return mistakes.add(key, "space.params.nesterov",
                        "'nesterov' has no effect, because the momentum is 0; give a momentum above 0, or leave it "
                        "out");
  }
  for (const space::Value& value : *values) {
    if (!is_zero(value)) out.push_back({key, domain, std::string(kMomentum), value});
  }
}

}  // namespace

std::string idle_text(const std::string& setting, const std::vector<std::string>& optimizers) {
  const std::string readers = autodiff::optimizers_reading(setting);
  if (readers.empty() || optimizers.empty()) return "";
  std::string names;
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    const autodiff::Optimizer* optimizer = autodiff::find_optimizer(optimizers[i]);
    if (optimizer == nullptr || optimizer->reads(setting)) return "";
    names += (i == 0 ? "" : i + 1 == optimizers.size() ? " and " : ", ") + optimizers[i];
  }
  return "'" + setting + "' has no effect on " + names + "; it is a number of " + readers;
}

std::optional<Error> idle_tuned_setting(const study::StudyConfig& config, const study::PluginConfig& tune) {
  const auto params = tune.options.find("params");
  if (config.data.rules == study::kFirstRules || params == tune.options.end() || !params->is_object()) {
    return std::nullopt;
  }
  std::vector<std::string> optimizers;
  for (const space::Parameter& parameter : config.space.params.parameters()) {
    const std::int64_t count = space::domain_size(parameter.domain).value_or(0);
    for (std::int64_t i = 0; parameter.name == kOptimizer && i < count; ++i) {
      optimizers.push_back(space::value_text(space::domain_value(parameter.domain, i, count)));
    }
  }
  if (optimizers.empty()) optimizers.push_back(config.train.optimizer.name);
  for (const auto& [name, domain] : params->items()) {
    const std::string why = idle_text(name, optimizers);
    if (!why.empty()) return Error{Code::kInvalidArgument, why, "params." + name};
  }
  return std::nullopt;
}

std::vector<ConditionalParam> conditional_params(const YAML::Node& params, const study::StudyConfig& config,
                                                 Mistakes& mistakes) {
  std::vector<ConditionalParam> out;
  if (config.data.rules == study::kFirstRules) return out;
  const std::vector<std::string> optimizers = optimizers_of(params, config);
  std::vector<std::pair<YAML::Node, YAML::Node>> partly_read;
  for (const auto& item : params) {
    const auto name = item.first.as<std::string>();
    if (item.second.IsMap() || autodiff::optimizers_reading(name).empty()) continue;
    if (const std::string why = idle_text(name, optimizers); !why.empty()) {
      mistakes.add(item.first, "space.params." + name, why);
    } else if (std::ranges::any_of(optimizers, [&](const auto& each) { return !idle_text(name, {each}).empty(); })) {
      partly_read.emplace_back(item.first, item.second);
    } else if (name == kNesterov) {
      add_nesterov(params, item.first, item.second, config, out, mistakes);
    }
  }
  for (const std::string& each : optimizers) {
    for (const auto& [key, domain] : partly_read) {
      if (idle_text(key.Scalar(), {each}).empty()) out.push_back({key, domain, std::string(kOptimizer), each});
    }
  }
  return out;
}

}  // namespace lanista::studyfile
