#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/options.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// A plain setting of the study file, bound to its place in StudyConfig. Reader, writer, JSON Schema and help are made
/// from these.
struct Field {
  OptionSpec spec;  ///< default_value is not used: the default is what a fresh StudyConfig holds
  std::function<void(study::StudyConfig&, const nlohmann::json&)> set;
  /// Null of what is not optional: not written, other settings say it.
  std::function<nlohmann::json(const study::StudyConfig&)> get;
  bool optional = false;  ///< may be absent altogether: null, "none" in the file
  bool omits_default = false;     ///< not written where it has its default: texts from before it are as they were
};

/// A block of settings.
struct Section {
  std::string name;  ///< "" for the top level
  std::string help;
  std::vector<Field> fields;
};

/// Every plain setting. What is not plain (goal, space, plug-in options, stop: none) has its own notation in the
/// reader.
std::vector<Section> study_sections();

}  // namespace lanista::studyfile
