#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "lanista/app/report/facts.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "lanista/search/study/tune_searches.h"

namespace lanista::report {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBranches = 64, kText = 200;
constexpr const char* kLoss = "train_loss";

/// A number with four significant digits.
std::string setting_text(const space::Sample& setting) {
  std::string text;
  for (const auto& [name, value] : setting) {
    char digits[32] = "";
    const auto* real = std::get_if<double>(&value);
    if (real != nullptr) std::snprintf(digits, sizeof digits, "%.4g", *real);
    text += (text.empty() ? "" : " ") + name + "=" + (real != nullptr ? digits : space::value_text(value));
  }
  return clip_utf8(text, kText);
}

json branch_facts(const study::TuneSearchView& search, const study::Branch& branch) {
  const auto level = study::final_loss_of(search, branch);
  return {{"with", setting_text(branch.setting)},
          {"steps", branch.steps},
          {"trend", clip_utf8(branch.trend, kText)},
          {"level", level ? number_json(*level) : json()},
          {"fell", branch.speed > 0},
          {"kept", &branch == search.kept}};
}

json search_facts(const study::TuneSearchView& search) {
  json branches = json::array();
  for (const study::Branch* branch : search.branches) {
    if (branches.size() < kMaxBranches || branch == search.kept) branches.push_back(branch_facts(search, *branch));
  }
  return {{"epoch", search.epoch},
          {"step", search.step},
          {"start", search.start_loss ? number_json(*search.start_loss) : json()},
          {"tried", search.branches.size()},
          {"steps", search.steps},
          {"given_up", search.discarded()},
          {"branches", std::move(branches)}};
}

}  // namespace

json search_entries(const study::StudyView& view, std::span<const std::size_t> order, std::size_t byte_limit) {
  json out = json::object();
  std::size_t size = 0;
  for (const std::size_t i : order) {
    const study::TrialView& trial = view.trials[i];
    json searches = json::array();
    for (const study::TuneSearchView& search : study::searches_of(trial)) searches.push_back(search_facts(search));
    if (searches.empty()) continue;
    json steps = json::array(), losses = json::array();
    for (const std::size_t point : thinned_indices(trial.measurements.size())) {
      const study::Measurement& m = trial.measurements[point];
      const auto loss = m.metrics.find(kLoss);
      if (loss == m.metrics.end()) continue;
      steps.push_back(m.step);
      losses.push_back(number_json(loss->second));
    }
    json entry{{"searches", std::move(searches)}, {"steps", std::move(steps)}, {"losses", std::move(losses)}};
    size += script_json(entry).size() + 12;
    if (size > byte_limit) break;
    out[std::to_string(i + 1)] = std::move(entry);
  }
  return out;
}

}  // namespace lanista::report
