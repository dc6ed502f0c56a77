#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// One "--set key.path=value" of the command line; the value is YAML. Or a file with the value: its mistakes have
/// positions in that file.
struct Override {
  std::string key;        ///< full key
  std::string value;      ///< YAML text
  std::string file = {};  ///< file of the value; empty: the command line
};

/// Reads and resolves a study file (YAML, at most 1 MB, depth 32, 1,000 aliases, no tags).
///
/// It reports every mistake, with "file:line:column", the value found, what is allowed, and the nearest known key. The
/// `message` of the error has one line for each. Errors: kInvalidArgument.
Result<study::StudyConfig> read_study(std::string_view text, const std::string& file,
                                      const std::vector<Override>& overrides = {});

/// Reads the resolved file with which a study began. Settings that did not exist then get their old meaning: without
/// `train.keep` the last epoch counts, without `train.ties` the earlier of equal results. `cluster.program` has no
/// effect and is listed in StudyConfig::ignored. Errors: as for read_study().
Result<study::StudyConfig> read_stored_study(std::string_view text, const std::string& file);

/// The location of a key such as "model.base[0]" in a valid study file, for mistakes that show only with the data.
///
/// It is "file:line:column: key" of the key or of the existing part of its path. For an overridden key it is "--set
/// key" or the location in the override's file. If nothing is found it is the key.
std::string location_in_study(std::string_view text, const std::string& file, const std::vector<Override>& overrides,
                              const std::string& key);

/// The resolved file with all settings and no defaults. read_study() of it gives the same configuration.
std::string write_study(const study::StudyConfig& config);

/// Changes relative paths in the configuration (data files, model files) from base `from` to base `to`, so that a study
/// folder and its data can move together. Errors: kIo.
Result<void> rebase_paths(study::StudyConfig& config, const std::string& from, const std::string& to);

/// The name of a study without a name, from its source: the file or the data set, "points" for
/// "csv:own/points.csv?target=kind"; letters, digits and '-'.
std::string default_study_name(const std::string& source);

/// The study file of `lanista run` without arguments.
std::string_view default_study();

/// The JSON Schema of the study file, from the same tables of options.
nlohmann::json study_json_schema();

}  // namespace lanista::studyfile
