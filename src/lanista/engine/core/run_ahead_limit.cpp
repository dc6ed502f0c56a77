#include "lanista/engine/core/run_ahead_limit.h"

#include <algorithm>

namespace lanista::engine {

void RunAheadLimit::observe(const study::Event& event, const search::Strategy& strategy) {
  const auto query_verdict = [&](TrialId id, Running& trial, std::int64_t done) {
    if (done >= trial.budget) return;
    trial.epoch = std::clamp(strategy.verdict(id).through, done + 1, trial.budget);
  };
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    Running& trial = running_[proposed->trial];
    trial.budget = proposed->proposal.budget;
    query_verdict(proposed->trial, trial, 0);
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    const TrialId id = measured->measurement.trial;
    const std::int64_t epoch = measured->measurement.epoch;
    Running& trial = running_.at(id);
    trial.has_no_verdict_due = epoch < trial.epoch;
    if (!trial.has_no_verdict_due) query_verdict(id, trial, epoch);
  } else if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
    Running& trial = running_[resumed->trial];
    trial = {resumed->budget, resumed->epoch, false};
    query_verdict(resumed->trial, trial, resumed->epoch);
  } else if (const auto* paused = std::get_if<study::Paused>(&event)) {
    running_.erase(paused->trial);
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    running_.erase(ended->trial);
  }
}

}  // namespace lanista::engine
