#include "lanista/app/cli/import_study.h"

#include <algorithm>
#include <filesystem>

#include "lanista/app/cli/load.h"
#include "lanista/base/file_system.h"
#include "lanista/engine/core/external_trials.h"
#include "lanista/engine/core/optuna_storage.h"
#include "lanista/engine/core/study_setup.h"

namespace lanista::cli {
namespace {

/// Reasons with their counts, most frequent first: "5: its lr is not in the space; 2: …".
std::string reasons_text(const std::map<std::string, std::int64_t>& reasons) {
  constexpr std::size_t kMost = 5;
  std::vector<std::pair<std::string, std::int64_t>> sorted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (std::size_t k = 0; k < std::min(kMost, sorted.size()); ++k) {
    out += (k > 0 ? "; " : "") + std::to_string(sorted[k].second) + ": " + sorted[k].first;
  }
  if (sorted.size() > kMost) out += "; and " + std::to_string(sorted.size() - kMost) + " further reasons";
  return out;
}

Error no_named_studies(const std::string& what) {
  return {Code::kInvalidArgument,
          "--study names a study of an Optuna journal or storage, and this is " + what + "; leave out --study", ""};
}

/// The trials of a file: lines of JSON are a journal, an SQLite file is a storage, all else is a table.
Result<engine::ImportedTrials> import_from_file(const std::string& path, const std::string& name,
                                                const study::StudyConfig& config,
                                                const std::shared_ptr<const mutate::ModelSpace>& models) {
  LANISTA_ASSIGN(const std::string text, real_file_system().read(path, 0));
  LANISTA_ASSIGN(const search::Context context, engine::strategy_context(config, models));
  std::vector<std::string> params;
  for (const space::Parameter& parameter : context.params.parameters()) {
    if (std::ranges::find(params, parameter.name) == params.end()) params.push_back(parameter.name);
  }
  const bool is_journal = text.starts_with("{"), is_database = engine::is_sqlite(text);
  if (!name.empty() && !is_journal && !is_database) return no_named_studies("a table");
  auto trials = is_journal    ? engine::read_optuna_trials(text, config.goals, name)
                : is_database ? engine::read_optuna_database(path, config.goals, name)
                              : engine::read_csv_trials(text, params, engine::required_metrics(config));
  if (!trials) return std::move(trials).error();
  return engine::import_trials(*trials, config, models);
}

Result<engine::ImportedTrials> import_from_study(const std::string& folder, const study::StudyConfig& config,
                                                 const data::DataSpec& data, const mutate::ModelSpace& models) {
  LANISTA_ASSIGN(const auto old, load_study(folder));
  return engine::import_trials(old, config, data, models);
}

}  // namespace

Result<study::Earlier> import_study(const std::string& path, const std::string& name, const study::StudyConfig& config,
                                    const data::DataSpec& data, const std::shared_ptr<const mutate::ModelSpace>& models,
                                    std::vector<std::string>& notes) {
  const auto located = [&](Error error) {
    error.where = "--import " + path + (error.where.empty() || error.where == path ? "" : ": " + error.where);
    return error;
  };
  const bool is_file = std::filesystem::is_regular_file(path);
  if (!is_file && !name.empty()) return located(no_named_studies("a study folder"));
  auto imported =
      is_file ? import_from_file(path, name, config, models) : import_from_study(path, config, data, *models);
  if (!imported) return located(imported.error());
  const std::string reasons = reasons_text(imported->left_out);
  if (imported->earlier.trials.empty()) {
    return located(
        {Code::kInvalidArgument,
         "none of its trials fits this study" + (reasons.empty() ? "; none has finished" : " (" + reasons + ")"), ""});
  }
  const auto count = imported->earlier.trials.size();
  notes.push_back(
      "the strategy uses " + std::to_string(count) + (count == 1 ? " trial" : " trials") + " of " + path +
      (reasons.empty() ? "" : "; left out: " + std::to_string(imported->earlier.left_out) + " (" + reasons + ")"));
  return std::move(imported->earlier);
}

}  // namespace lanista::cli
