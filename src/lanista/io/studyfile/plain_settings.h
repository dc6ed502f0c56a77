#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/options.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// A plain setting of the study file and its member of StudyConfig. Reader, writer, JSON Schema and help are made from
/// these.
struct Field {
  OptionSpec spec;  ///< Key, type and range; its default_value is unused, since a new StudyConfig has the default.
  /// Sets the member.
  std::function<void(study::StudyConfig&, const nlohmann::json&)> set;
  /// Reads the member. Null of a setting that is not optional: it is not written, since other settings contain it.
  std::function<nlohmann::json(const study::StudyConfig&)> get;
  bool optional = false;       ///< The member may be absent: null, "none" in the file.
  bool omits_default = false;  ///< A default is not written, so that texts from before the setting stay the same.
};

/// A section of settings.
struct Section {
  std::string name;           ///< "" for the top level
  std::string help;           ///< one sentence for the user
  std::vector<Field> fields;  ///< in the order of the file
};

/// All plain settings. Others (goal, space, plug-in options, stop: none) have notations and readers of their own.
std::vector<Section> study_sections();

}  // namespace lanista::studyfile
