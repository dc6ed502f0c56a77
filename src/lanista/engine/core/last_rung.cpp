#include "lanista/engine/core/last_rung.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/pareto.h"

namespace lanista::engine {

bool pauses_at_rungs(const study::StudyConfig& config) {
  const auto all = search::builtin_strategies();
  const auto plugin = std::ranges::find(all, config.strategy.name, &search::StrategyPlugin::name);
  if (plugin != all.end() && plugin->forks) return false;
  if (plugin != all.end() && plugin->has_own_halving) return true;
  const auto rules = search::builtin_stopping_rules();
  const auto rule = std::ranges::find(rules, config.stop.rule, &search::StoppingPlugin::name);
  return rule != rules.end() && rule->pauses_at_rungs && rule->pauses_at_rungs(config.stop.options);
}

LastRung::LastRung(const study::StudyConfig& config)
    : goals_(config.goals),
      constraints_(config.subject_to),
      settled_(config.data.rules == study::kFirstRules || !pauses_at_rungs(config)) {}

void LastRung::observe(const study::Event& event) {
  if (settled_) return;
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    if (proposed->proposal.horizon > 0) open_[proposed->trial].proposal = proposed->proposal;
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    const auto trial = open_.find(measured->measurement.trial);
    if (trial == open_.end()) return;
    OpenTrial& open = trial->second;
    open.epoch = measured->measurement.epoch;
    open.losses = study::losses(goals_, measured->measurement);
    open.violation = study::violation(constraints_, measured->measurement, open.proposal.sample);
    const bool has_result = std::ranges::none_of(open.losses, [](double loss) { return std::isnan(loss); });
    settled_ = has_result && open.epoch >= study::full_epochs(open.proposal);
    if (settled_) open_.clear();
  } else if (const auto* paused = std::get_if<study::Paused>(&event)) {
    if (const auto trial = open_.find(paused->trial); trial != open_.end()) trial->second.paused = true;
  } else if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
    if (const auto trial = open_.find(resumed->trial); trial != open_.end()) trial->second.paused = false;
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    open_.erase(ended->trial);
  }
}

std::optional<TrialId> LastRung::best_paused(const std::function<bool(TrialId)>& fits) const {
  if (settled_) return std::nullopt;
  std::optional<TrialId> best;
  const auto key = [&](TrialId id) {
    const OpenTrial& trial = open_.at(id);
    const bool lost = trial.losses.empty() || std::isnan(trial.losses.front());
    return std::tuple(-trial.epoch, lost, trial.violation, lost ? 0 : trial.losses.front(), id);
  };
  for (const auto& [id, trial] : open_) {
    if (!trial.paused || (best && key(*best) < key(id))) continue;
    if (fits(id)) best = id;
  }
  return best;
}

}  // namespace lanista::engine
