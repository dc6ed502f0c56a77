#include "lanista/cli/import_study.h"

#include <algorithm>

#include "lanista/cli/load.h"
#include "lanista/engine/earlier_trials.h"

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

}  // namespace

Result<study::Earlier> import_study(const std::string& folder, const study::StudyConfig& config,
                                    const data::DataSpec& data, const mutate::ModelSpace& models,
                                    std::vector<std::string>& notes) {
  const auto located = [&](Error error) {
    error.where = "--import " + folder + (error.where.empty() || error.where == folder ? "" : ": " + error.where);
    return error;
  };
  auto old = load_study(folder);
  if (!old) return located(old.error());
  auto taken = engine::take_over(*old, config, data, models);
  if (!taken) return located(taken.error());
  const std::string reasons = reasons_text(taken->left_out);
  if (taken->earlier.trials.empty()) {
    return located({Code::kInvalidArgument, "no trial of it fits this study" + (reasons.empty() ? "; none has finished" : " (" + reasons + ")"), ""});
  }
  const auto count = taken->earlier.trials.size();
  notes.push_back("the strategy knows " + std::to_string(count) + (count == 1 ? " trial" : " trials") + " of " + folder +
                  (reasons.empty() ? "" : "; left out are " + std::to_string(taken->earlier.left_out) + " (" + reasons + ")"));
  return std::move(taken->earlier);
}

}  // namespace lanista::cli
