#include "lanista/engine/core/optimum_reached.h"

#include <algorithm>
#include <variant>

#include "lanista/search/study/metric.h"
#include "lanista/search/study/pareto.h"

namespace lanista::engine {
namespace {

bool is_perfect(const study::StudyConfig& config, const study::Measurement& measurement, const space::Sample& sample) {
  const bool is_best = std::ranges::all_of(config.goals, [&](const study::Goal& goal) {
    const auto bound = study::best_possible(goal.metric);
    const auto value = measurement.metrics.find(goal.metric);
    if (!bound || value == measurement.metrics.end()) return false;
    return goal.maximize ? value->second >= *bound : value->second <= *bound;
  });
  return is_best && study::violation(config.subject_to, measurement, sample) <= 0;
}

}  // namespace

void OptimumReached::observe(const study::StudyView& view, const study::Event& event) {
  if (!study::has_rung_rule(view.config.implied)) return;
  if (const auto* measured = std::get_if<study::Measured>(&event)) {
    const study::TrialView& trial = view.trials[measured->measurement.trial.value - 1];
    if (is_perfect(view.config, measured->measurement, trial.proposal.sample)) {
      candidates_.emplace(trial.parameters, trial.id);
    }
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    const study::TrialView& trial = view.trials[ended->trial.value - 1];
    if (!study::ranks(trial, ended->outcome)) candidates_.erase({trial.parameters, trial.id});
  }
}

bool OptimumReached::any_before(const study::TrialView& trial) const {
  return !candidates_.empty() && *candidates_.begin() < Candidate{trial.parameters, trial.id};
}

}  // namespace lanista::engine
