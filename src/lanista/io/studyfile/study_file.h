#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// A value that replaces one in the study file: from "--set key.path=value" of the command line, or from another file.
struct Override {
  std::string key;        ///< full key: "train.epochs"
  std::string value;      ///< YAML text
  std::string file = {};  ///< file of the value, for positions of mistakes; empty: the command line
};

/// Reads the text of a study file, applies `overrides` in order, and sets defaults. YAML within the limits of
/// guard_yaml(). `file` is its name in messages.
/// Errors: kInvalidArgument. With an empty `where`, `message` has one line for each mistake, with "file:line:column",
/// the value found, what is allowed, and the nearest known key. Else it is one error at `where`: the text is no YAML or
/// no mapping, or an override cannot be set.
Result<study::StudyConfig> read_study(std::string_view text, const std::string& file,
                                      const std::vector<Override>& overrides = {});

/// Reads the resolved file that the log of a study has. Settings that did not exist when it was written get their old
/// meaning: without `rules` the first rules hold, without `train.keep` the last epoch counts, without `train.ties` the
/// earlier of equal results. `cluster.program` has no effect and is listed in StudyConfig::ignored. Settings that were
/// removed since are listed in StudyConfig::removed. Those with the value that changed nothing are left out. Errors:
/// kInvalidArgument, as for read_study().
Result<study::StudyConfig> read_stored_study(std::string_view text, const std::string& file);

/// The full names of all keys of a study file with the name `key`: "run.seed", or "goal" at the top. Options of
/// strategies and stopping rules count as keys of their sections.
std::set<std::string> full_keys(const std::string& key);

/// The location of the full key `key`, such as "model.base[0]", in the text of a valid study file. It is for mistakes
/// that are found only with the data.
/// It is "file:line:column: key" with the position of its value, or of the last existing part of its path. For an
/// overridden key it is "--set key", or "file:line:column: key" in the file of the override. If no part is found it is
/// `key`.
std::string location_in_study(std::string_view text, const std::string& file, const std::vector<Override>& overrides,
                              const std::string& key);

/// The text of the resolved file: all settings with their values. Settings of later versions (Field::omits_default) are
/// left out at their default. read_study() of it gives an equal configuration.
std::string write_study(const study::StudyConfig& config);

/// Changes relative paths in the configuration, which are relative to folder `from`, so that they are relative to
/// folder `to` and name the same files. Paths are those of data, base models, the file or zoo of a start, profiles and
/// frozen weights. Errors: kInvalidArgument (the new path of the data has a '?' or ',', or is no UTF-8), kIo (no
/// working folder).
Result<void> rebase_paths(study::StudyConfig& config, const std::string& from, const std::string& to);

/// The name for a study without one, from data.source: the stem of the first file, or the data set. "points" for
/// "csv:own/points.csv?target=kind". It has 1 to 40 ASCII letters, digits and '-'. If the source has none of them it is
/// "study".
std::string default_study_name(const std::string& source);

/// The YAML text of the study that `lanista run` without arguments runs.
std::string_view default_study();

/// The JSON Schema of the study file, made from study_sections() and the options of plug-ins.
nlohmann::json study_json_schema();

}  // namespace lanista::studyfile
