#include "lanista/engine/podium.h"

#include <algorithm>
#include <cmath>

#include "lanista/strategy/pareto.h"

namespace lanista::engine {

Standing standing(const std::vector<study::Goal>& goals, const TrialView& trial) {
  Standing out{{}, trial.parameters, trial.id};
  for (const double loss : strategy::losses(goals, trial.measurements.back())) {
    out.losses.emplace_back(std::isnan(loss), std::isnan(loss) ? 0 : loss);
  }
  return out;
}

bool ranks(const TrialView& trial, const study::Outcome& outcome) {
  const bool finished = outcome.kind == study::OutcomeKind::kSucceeded || outcome.kind == study::OutcomeKind::kStopped;
  return finished && !trial.measurements.empty();
}

bool Podium::admits(const Standing& standing) const {
  return best_.size() < size_ || (size_ > 0 && standing < best_.back());
}

std::vector<TrialId> Podium::add(const Standing& standing) {
  best_.insert(std::upper_bound(best_.begin(), best_.end(), standing), standing);
  std::vector<TrialId> out;
  while (best_.size() > size_) {
    out.push_back(best_.back().trial);
    best_.pop_back();
  }
  return out;
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

}  // namespace lanista::engine
