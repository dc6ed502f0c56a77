#include "lanista/app/cli/expected_study.h"

#include <algorithm>

#include "lanista/app/cli/load.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/report/compare.h"
#include "lanista/base/file_system.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/io/formats/signature.h"
#include "lanista/io/studyfile/blueprint.h"

namespace lanista::cli {
namespace {

using report::StudyComparison;

/// Whether a setting may change the numbers of a study. Its name, its workers and its memory may not.
bool affects_results(const StudyComparison::Difference& difference) {
  const auto& key = difference.key;
  return key != "name" && key != "run.workers" && key != "run.lanes" && key != "run.memory_gib" && key != "run.width" &&
         key != "run.pipeline" && key != "run.isolation" && key != "run.profiles" && key != "run.lease_seconds" &&
         !key.starts_with("cluster.");
}

std::vector<StudyComparison::Difference> differences(const study::StudyConfig& stored,
                                                     const study::StudyConfig& expected) {
  auto out = report::differing_settings({studyfile::write_study(stored), studyfile::write_study(expected)});
  std::erase_if(out, [](const auto& difference) { return !affects_results(difference); });
  return out;
}

std::string value_text(const std::string& value) { return value.empty() ? "not set" : value; }

Error changes_error(const std::vector<StudyComparison::Difference>& all, const std::string& where,
                    const std::string& folder, const std::string& begin_with) {
  std::string message =
      "a study continues with the settings that it began with; " +
      (all.size() == 1 ? std::string("1 setting differs") : std::to_string(all.size()) + " settings differ") + ": ";
  bool budget = false, others = false, moved = false;
  for (const StudyComparison::Difference& each : all) {
    message += each.key + ": was " + value_text(each.values[0]) + ", is " + value_text(each.values[1]) + "; ";
    (each.key.starts_with("budget.") ? budget : others) = true;
    moved = moved || each.key == "data.source";
  }
  const std::string study = shell_word(folder);
  if (budget) message += "to train more of it: lanista resume " + study + " --trials N (or --steps, --minutes)";
  if (budget && others) message += "; ";
  if (moved)
    message += "if these are the same data at another place: lanista resume " + study + " --set data.source=SOURCE; ";
  if (others) message += "to begin a new study with its results: lanista run " + begin_with + " --import " + study;
  return {Code::kInvalidArgument, message, where};
}

/// The configuration that a new study in this folder would have, from the file, the overrides and the data.
Result<study::StudyConfig> parse_expected_study(const std::string& text, const std::string& name,
                                                const std::string& from, std::vector<studyfile::Override> overrides,
                                                const std::string& folder, const data::Dataset& data) {
  // A study keeps its rules; a file of an old study does not name them.
  overrides.insert(overrides.begin(), {"rules", std::to_string(data.spec().rules)});
  LANISTA_ASSIGN(study::StudyConfig config, studyfile::read_study(text, name, overrides));
  LANISTA_TRY(studyfile::embed_model_space(config, from, real_file_system()));
  // If a setting does not fit the data, it differs from the study's, and the list of differences shows its key.
  static_cast<void>(engine::resolve_from_data(config, data.spec()));
  LANISTA_TRY(studyfile::rebase_paths(config, from, folder));
  return config;
}

}  // namespace

Result<void> check_unchanged(const std::string& folder, const study::StudyConfig& stored, const data::Dataset& data,
                             const ExpectedStudy& expected_study) {
  FileSystem& fs = real_file_system();
  // An edited file is a request for other settings. A file that cannot be read is ignored.
  const std::string resolved = folder + "/config.resolved.yaml";
  if (const auto text = fs.read(resolved)) {
    if (const auto edited = studyfile::read_stored_study(*text, resolved)) {
      study::StudyConfig config = *edited;
      if (config.data.targets == "auto")
        config.data.targets = stored.data.targets;  // studies of versions without this setting
      if (const auto found = differences(stored, config); !found.empty()) {
        Error error = changes_error(found, resolved, folder, "EDITED.yaml");
        error.message +=
            "\n(EDITED.yaml is a copy of this file in another folder; without this file, resume writes it again with "
            "the "
            "settings of the study)";
        return error;
      }
    }
  }
  if (expected_study.file.empty() && expected_study.overrides.empty()) return {};
  std::string text = studyfile::write_study(stored), name = "the study", from = folder;
  if (!expected_study.file.empty()) {
    LANISTA_ASSIGN(text, fs.read(expected_study.file));
    if (const auto foreign = formats::unsupported_format_error(text, expected_study.file)) return *foreign;
    name = expected_study.file;
    from = folder_of(expected_study.file);
  }
  LANISTA_ASSIGN(const auto config, parse_expected_study(text, name, from, expected_study.overrides, folder, data));
  const auto found = differences(stored, config);
  if (found.empty()) return {};
  std::string begin_with = expected_study.file.empty() ? shell_word(resolved) : shell_word(expected_study.file);
  for (const studyfile::Override& each : expected_study.overrides)
    begin_with += " --set " + shell_word(each.key + "=" + each.value);
  return changes_error(found, expected_study.file.empty() ? "--set" : expected_study.file, folder, begin_with);
}

}  // namespace lanista::cli
