#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// One "--set key.path=value" from the command line; the value is YAML. Or a file that stands for the value: mistakes in
/// it are told with their line there.
struct Override {
  std::string key;
  std::string value;
  std::string file = {};  ///< that the value was read from; empty: it stood on the command line
};

/// Reads and resolves a study file (YAML, at most 1 MB, depth 32, 1,000 aliases, no tags). Every mistake is reported,
/// each with "file:line:column", the value seen, what is allowed, and the nearest known key; `message` of the error
/// holds them all, a line each. Errors: kInvalidArgument.
Result<study::StudyConfig> read_study(std::string_view text, const std::string& file,
                                      const std::vector<Override>& overrides = {});

/// Reads the resolved file that a study was begun with. Settings that came later mean what such studies did: without
/// `train.keep` the last epoch counts, without `train.ties` the earlier of equals. `cluster.program` has no effect and
/// is listed in StudyConfig::ignored. Errors: as of read_study.
Result<study::StudyConfig> read_stored_study(std::string_view text, const std::string& file);

/// Where a key such as "model.base[0]" stands in a study file that can be read, for mistakes that show only with the
/// data at hand: "file:line:column: key" of it or of what is left of its path, "--set key" if it was overridden (or
/// the place in the override's file), else the key.
std::string location_in_study(std::string_view text, const std::string& file, const std::vector<Override>& overrides,
                           const std::string& key);

/// The resolved file: everything said, nothing left to defaults; read_study of it gives the same configuration.
std::string write_study(const study::StudyConfig& config);

/// Relative paths inside the configuration (data files, model files), written for `from`, become relative to `to`, so
/// that a study folder and its data can move together. Errors: kIo.
Result<void> rebase_paths(study::StudyConfig& config, const std::string& from, const std::string& to);

/// What a study over this source is called that says no name: the file or the data set, "points" for
/// "csv:own/points.csv?target=kind"; letters, digits and '-'.
std::string default_study_name(const std::string& source);

/// The study that `lanista run` does without arguments.
std::string_view default_study();

/// JSON Schema of the study file, from the same option tables.
nlohmann::json study_json_schema();

}  // namespace lanista::studyfile
