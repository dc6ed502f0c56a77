#include "lanista/study/view.h"

#include <algorithm>
#include <cmath>

#include "lanista/study/pareto.h"

namespace lanista::study {

Standing standing(const std::vector<Goal>& goals, const TrialView& trial) {
  Standing out{{}, trial.parameters, trial.id};
  for (const double loss : losses(goals, trial.measurements.back())) {
    out.losses.emplace_back(std::isnan(loss), std::isnan(loss) ? 0 : loss);
  }
  return out;
}

bool ranks(const TrialView& trial, const Outcome& outcome) {
  const bool finished = outcome.kind == OutcomeKind::kSucceeded || outcome.kind == OutcomeKind::kStopped;
  return finished && !trial.measurements.empty();
}

std::vector<TrialId> ranking(const StudyView& view) {
  std::vector<Standing> all;
  for (const TrialView& trial : view.trials) {
    if (trial.outcome && ranks(trial, *trial.outcome)) all.push_back(standing(view.config.goals, trial));
  }
  std::sort(all.begin(), all.end());
  std::vector<TrialId> ids;
  for (const Standing& s : all) ids.push_back(s.trial);
  return ids;
}

}  // namespace lanista::study
