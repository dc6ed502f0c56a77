#include "lanista/search/study/tune_searches.h"

#include <cmath>
#include <utility>

#include "lanista/search/tuning/adaptive_batch_rules.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::study {

std::vector<TuneSearchView> searches_of(const TrialView& trial) {
  std::vector<TuneSearchView> out;
  for (const Measurement& measurement : trial.measurements) {
    if (measurement.branches.empty() || batch_change_before(measurement) != nullptr) continue;
    TuneSearchView search{trial.id, measurement.epoch, measurement.branches.front().step, {}, {}};
    for (const Branch& branch : measurement.branches) {
      search.steps += branch.steps;
      if (branch.setting.empty()) {
        if (std::isfinite(branch.speed)) search.start_loss = branch.speed;
        continue;
      }
      search.branches.push_back(&branch);
      if (branch.kept) search.kept = &branch;
    }
    out.push_back(std::move(search));
  }
  return out;
}

std::optional<double> final_loss_of(const TuneSearchView& search, const Branch& branch) {
  if (!search.start_loss || !std::isfinite(branch.speed)) return std::nullopt;
  if (branch.trend == kDiverged) return std::nullopt;
  return *search.start_loss - branch.speed * static_cast<double>(branch.steps);
}

SearchCounts search_counts(const StudyView& view) {
  SearchCounts out;
  for (const TrialView& trial : view.trials) {
    const std::vector<TuneSearchView> searches = searches_of(trial);
    out.trials += searches.empty() ? 0 : 1;
    for (const TuneSearchView& search : searches) {
      ++out.searches;
      out.successful += search.kept == nullptr ? 0 : 1;
      out.branches += std::ssize(search.branches);
      out.discarded += search.discarded();
    }
  }
  return out;
}

std::string searches_text(const SearchCounts& counts) {
  if (counts.searches == 0) return "";
  const auto many = [](std::int64_t count, const char* one, const char* several) {
    return std::to_string(count) + " " + (count == 1 ? one : several);
  };
  return many(counts.trials, "trial", "trials") + " searched for settings " + many(counts.searches, "time", "times") +
         ": " + many(counts.branches, "branch", "branches") + ", " + many(counts.discarded, "step", "steps") +
         " given up";
}

std::string strategy_text(const StudyConfig& config) {
  std::string text = config.strategy.name;
  if (config.stop.rule != "none") text += "+" + config.stop.rule;
  const std::string& tuner = config.train.tune.name;
  if (!tuner.empty() && tuner != kReplaySchedule && tuner != kAdaptive) text += ", tuned by " + tuner;
  if (config.strategy.then) text += ", then " + config.strategy.then->tune.name;
  return text;
}

}  // namespace lanista::study
