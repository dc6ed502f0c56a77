#include "lanista/app/report/page_data.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lanista/app/report/facts.h"
#include "lanista/app/report/failures.h"
#include "lanista/app/report/importance.h"
#include "lanista/app/report/page_columns.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::StudyView;
using study::TrialView;

constexpr std::size_t kBest = 500;
constexpr std::size_t kManyTrials = 20'000;  // with more, numbers have five digits

/// Indices of the trials that were better than all finished ones before them.
void add_records(const StudyView& view, std::vector<std::size_t>& order) {
  std::optional<study::RankingKey> best;
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    const TrialView& trial = view.trials[i];
    if (!trial.outcome || !study::ranks(trial, *trial.outcome)) continue;
    study::RankingKey standing = study::standing(view.config, trial);
    if (best && !(standing < *best)) continue;
    best = std::move(standing);
    order.push_back(i);
  }
}

/// The order 0, n/2, n/4, 3n/4, …, in which each prefix is spread evenly.
std::vector<std::size_t> spread_indices(std::size_t count) {
  std::vector<std::size_t> out;
  std::size_t stride = 1;
  while (stride < count) stride *= 2;
  if (count > 0) out.push_back(0);
  for (; stride > 1; stride /= 2) {
    for (std::size_t i = stride / 2; i < count; i += stride) out.push_back(i);
  }
  return out;
}

json fitting_trials(const StudyView& view, const std::vector<std::size_t>& order, std::size_t byte_limit,
                    std::vector<std::size_t>& rows) {
  const int width = order.size() > kManyTrials ? 3 : 4;
  rows = order;
  while (true) {
    std::sort(rows.begin(), rows.end());
    json columns = trial_columns(view, rows, width);
    const std::size_t size = columns.dump(-1, ' ', true, json::error_handler_t::replace).size();
    if (size <= byte_limit || rows.size() < 100) return columns;
    const double share = static_cast<double>(byte_limit) / static_cast<double>(size);
    const auto keep = static_cast<std::size_t>(static_cast<double>(rows.size()) * share * 0.98);
    rows.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(keep, order.size())));
  }
}

/// The importance of decisions; the shares alone if there is no room for more.
json fitting_importance(const StudyView& view, std::size_t byte_limit) {
  const std::vector<Importance> found = importance(view);
  json out = importance_json(found);
  std::size_t used = script_json(out).size();
  for (std::size_t goal = 0; goal < found.size(); ++goal) {
    json maps = maps_json(found[goal]);
    used += script_json(maps).size();
    out[goal]["maps"] = used <= byte_limit ? std::move(maps) : json();
  }
  if (script_json(out).size() <= byte_limit) return out;
  for (json& goal : out) {
    for (json& single : goal["singles"]) {
      for (const auto* name : {"at", "weights", "means", "best"}) single.erase(name);
    }
  }
  return out;
}

}  // namespace

std::vector<std::size_t> by_display_priority(const StudyView& view) {
  std::vector<std::size_t> wish;
  add_records(view, wish);
  if (view.winner) wish.push_back(view.winner->value - 1);
  const auto ranked = study::ranking(view);
  for (std::size_t i = 0; i < std::min(kBest, ranked.size()); ++i) wish.push_back(ranked[i].value - 1);
  for (const FailureGroup& group : group_failures(view)) {
    for (const TrialId id : group.first) wish.push_back(id.value - 1);
  }
  const auto rest = spread_indices(view.trials.size());
  wish.insert(wish.end(), rest.begin(), rest.end());
  std::vector<bool> is_chosen(view.trials.size(), false);
  std::vector<std::size_t> order;
  for (const std::size_t i : wish) {
    if (i >= is_chosen.size() || is_chosen[i]) continue;
    is_chosen[i] = true;
    order.push_back(i);
  }
  return order;
}

std::vector<std::string> page_metrics(const StudyView& view) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (names.size() < kMost && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const study::Goal& goal : view.config.goals) add(goal.metric);
  for (const std::string& name : metric_names(view)) add(name);
  return names;
}

std::string page_data(const StudyView& view, const PageOptions& options, std::size_t byte_limit) {
  const std::vector<std::size_t> order = by_display_priority(view);
  json data = study_facts(view, options);
  data["quality"] = quality_facts(view, options);
  data["importance"] = fitting_importance(view, byte_limit / 20);
  data["models"] = model_drawings(view, std::min<std::size_t>(300'000, byte_limit / 12));
  if (json steps = pipeline_steps(view, byte_limit / 20); !steps.empty()) data["pipeline"] = std::move(steps);
  data["timeline"] = timeline_columns(view, std::min<std::size_t>(20'000, byte_limit / 200));
  std::size_t used = script_json(data).size();
  const auto left = [&] { return byte_limit > used ? byte_limit - used : 0; };
  const auto put = [&](const std::string& name, json part) {
    used += script_json(part).size() + name.size() + 4;
    data[name] = std::move(part);
  };
  // Trials get the bytes that remain. All else except the facts gets at most a fifth of the page.
  const std::size_t sides = byte_limit / 10;
  std::vector<std::size_t> rows;
  put("trials", fitting_trials(view, order, left() > sides ? left() - sides : 0, rows));
  std::vector<std::size_t> shown = order;
  if (rows.size() < order.size()) {
    std::erase_if(shown, [&](std::size_t i) { return !std::binary_search(rows.begin(), rows.end(), i); });
  }
  put("searches", search_entries(view, shown, std::min<std::size_t>(400'000, left() / 3)));
  put("edits", edit_lines(view, shown, std::min<std::size_t>(700'000, left() / 2)));
  data["curves"] = curve_columns(view, shown, std::min<std::size_t>(1'500'000, left() * 9 / 10));
  return script_json(data);
}

}  // namespace lanista::report
