#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// A parameter of space.params that has an effect only where another parameter has a certain value.
struct ConditionalParam {
  YAML::Node key, domain;  ///< Nodes of its name and of its values.
  std::string parent;      ///< The other parameter, such as "optimizer".
  space::Value value;      ///< Its value, such as "sgd".
};

/// Returns why a setting has no effect with any of these optimisers: "'momentum' has no effect on adam; it is a number
/// of sgd and rmsprop". Empty: one of them reads it or is unknown, or it is not a setting of some optimisers.
std::string idle_text(const std::string& setting, const std::vector<std::string>& optimizers);

/// Returns an error at "params.NAME" if a tuner varies a setting that no optimiser of the study reads. `tune` is
/// train.tune, or the tuner of strategy.then. nullopt: there is none, or the study has the first rules.
std::optional<Error> idle_tuned_setting(const study::StudyConfig& config, const study::PluginConfig& tune);

/// Returns the conditions of parameters that are written next to the optimiser, and not below it in a map.
///
/// A parameter that only some of the optimisers read exists with these. Nesterov's form of a momentum exists where the
/// momentum is listed and above 0. So trials with the same training have the same configuration. Each parameter is
/// listed once for each value of its parent. `params` is the mapping space.params, and `config` has the settings of
/// section train. A parameter that never has an effect is added to `mistakes`. With the first rules the list is empty.
std::vector<ConditionalParam> conditional_params(const YAML::Node& params, const study::StudyConfig& config,
                                                 Mistakes& mistakes);

}  // namespace lanista::studyfile
