#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace lanista::studyfile {

/// A setting of a study file that earlier versions had and this one lacks.
struct RemovedSetting {
  YAML::Node node;       ///< Where it is.
  std::string key;       ///< Full key, such as "train.start_race".
  std::string reason;    ///< End of a sentence that begins with the key: the value, if only that was removed, and why.
  bool is_idle = false;  ///< True: it has the value that changed nothing. Earlier versions stored it in each study.
};

/// Returns why this version lacks a setting that an earlier version had, as the end of a sentence that begins with the
/// full key, such as "train.start_race" or "train.select.batch". Empty: no version had the setting, or this one has it.
std::string_view removal_reason(std::string_view key);

/// Takes the removed options of mltuner out of the study file `root`, a mapping: those of train.tune, strategy.then and
/// strategy mltuner. Returns them in the order of the file's sections.
std::vector<RemovedSetting> take_removed_tuner_options(const YAML::Node& root);

}  // namespace lanista::studyfile
