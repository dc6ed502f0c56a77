#include "lanista/app/cli/import_study.h"

#include <algorithm>
#include <filesystem>

#include "lanista/base/file_system.h"
#include "lanista/app/cli/load.h"
#include "lanista/engine/core/assembly.h"
#include "lanista/engine/core/outside_trials.h"

namespace lanista::cli {
namespace {

/// "5: its lr is not in the space; 2: …", the commonest first.
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

/// Of a file: a journal is lines of JSON, all else is a table.
Result<engine::TakenOver> take_over_file(const std::string& path, const study::StudyConfig& config,
                                         const std::shared_ptr<const mutate::ModelSpace>& models) {
  LANISTA_ASSIGN(const std::string text, real_file_system().read(path, 0));
  LANISTA_ASSIGN(const strategy::Context context, engine::strategy_context(config, models));
  std::vector<std::string> params;
  for (const space::Parameter& parameter : context.params.parameters()) {
    if (std::ranges::find(params, parameter.name) == params.end()) params.push_back(parameter.name);
  }
  auto trials = text.starts_with("{") ? engine::trials_of_journal(text, config.goals)
                                      : engine::trials_of_csv(text, params, engine::metrics_of_rows(config));
  if (!trials) return std::move(trials).error();
  return engine::take_over(*trials, config, models);
}

Result<engine::TakenOver> take_over_study(const std::string& folder, const study::StudyConfig& config,
                                          const data::DataSpec& data, const mutate::ModelSpace& models) {
  LANISTA_ASSIGN(const auto old, load_study(folder));
  return engine::take_over(old, config, data, models);
}

}  // namespace

Result<study::Earlier> import_study(const std::string& path, const study::StudyConfig& config,
                                    const data::DataSpec& data, const std::shared_ptr<const mutate::ModelSpace>& models,
                                    std::vector<std::string>& notes) {
  const auto located = [&](Error error) {
    error.where = "--import " + path + (error.where.empty() || error.where == path ? "" : ": " + error.where);
    return error;
  };
  const bool is_file = std::filesystem::is_regular_file(path);
  auto taken = is_file ? take_over_file(path, config, models) : take_over_study(path, config, data, *models);
  if (!taken) return located(taken.error());
  const std::string reasons = reasons_text(taken->left_out);
  if (taken->earlier.trials.empty()) {
    return located({Code::kInvalidArgument,
                    "no trial of it fits this study" + (reasons.empty() ? "; none has finished" : " (" + reasons + ")"),
                    ""});
  }
  const auto count = taken->earlier.trials.size();
  notes.push_back(
      "the strategy knows " + std::to_string(count) + (count == 1 ? " trial" : " trials") + " of " + path +
      (reasons.empty() ? "" : "; left out are " + std::to_string(taken->earlier.left_out) + " (" + reasons + ")"));
  return std::move(taken->earlier);
}

}  // namespace lanista::cli
