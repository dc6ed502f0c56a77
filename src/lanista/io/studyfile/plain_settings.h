#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/options.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// A plain setting of the study file: its key and its member of StudyConfig. Reader, writer, JSON Schema and help are
/// made from a list of these.
struct Field {
  OptionSpec spec;  ///< Key, type and range; its default_value is unused, since a new StudyConfig has the default.
  /// Sets the member to a value that fits `spec`; null: absent, if `optional`.
  std::function<void(study::StudyConfig&, const nlohmann::json&)> set;
  /// Returns the value of the member. Null means absent if `optional`; else the setting is not written, since other
  /// settings contain it.
  std::function<nlohmann::json(const study::StudyConfig&)> get;
  std::string stored_name;     ///< Older name of the key, which stored studies have; empty: that of `spec`.
  bool optional = false;       ///< True: the member may be absent, "none" in the file.
  bool omits_default = false;  ///< True: a default value is not written, so that texts of older files stay equal.
};

/// A section of the study file with its plain settings.
struct Section {
  std::string name;           ///< its key; "" for the top level
  std::string help;           ///< one sentence for the user
  std::vector<Field> fields;  ///< settings in the order of the file
};

/// All sections in the order of the file, with all plain settings. Other settings (goal, space, plug-in options, stop:
/// none) have notations and readers of their own.
std::vector<Section> study_sections();

}  // namespace lanista::studyfile
