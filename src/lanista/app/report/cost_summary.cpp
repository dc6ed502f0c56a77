#include "lanista/app/report/cost_summary.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lanista/app/report/facts.h"

namespace lanista::report {
namespace {

using study::OutcomeKind;
using study::StudyView;
using study::TrialView;

Saving cost_of(const TrialView& trial, double seconds) {
  if (trial.measurements.empty()) return {1, 0, 0, seconds};
  const study::Measurement& last = trial.measurements.back();
  return {1, last.epoch, last.step, seconds};
}

void add(Saving& sum, const Saving& more) {
  sum.trials += more.trials;
  sum.epochs += more.epochs;
  sum.steps += more.steps;
  sum.seconds += more.seconds;
}

/// The cost of the epochs that a trial did not train, at the pace of those that it did.
Saving early_stop_saving(const StudyView& view, const TrialView& trial, double seconds) {
  const Saving done = cost_of(trial, seconds);
  const std::int64_t epochs = study::full_epochs(trial.proposal) - done.epochs;
  if (done.epochs <= 0 || epochs <= 0) return {1, 0, 0, 0};
  const double share = static_cast<double>(epochs) / static_cast<double>(done.epochs);
  std::int64_t steps = std::llround(static_cast<double>(done.steps) * share);
  if (view.config.train.length.steps)
    steps = std::min(steps, *view.config.train.length.steps - done.steps);  // the last epoch is short
  return {1, epochs, steps, done.seconds * share};
}

}  // namespace

CostSummary summarize_costs(const StudyView& view) {
  const std::vector<TrialTimes> times = trial_times(view);
  CostSummary out;
  out.steps = view.steps;
  std::set<TrialId> trials_sharing_steps;
  for (const study::Span& span : view.spans) {
    if (span.lanes > 1) trials_sharing_steps.insert(span.trial);
    out.max_lanes = std::max(out.max_lanes, span.lanes);
  }
  out.trials_sharing_steps = std::ssize(trials_sharing_steps);
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    const TrialView& trial = view.trials[i];
    out.seconds += times[i].seconds;
    if (!trial.outcome) continue;
    if (trial.outcome->kind == OutcomeKind::kFailed) add(out.failed_trials_cost, cost_of(trial, times[i].seconds));
    if (trial.outcome->kind == OutcomeKind::kStopped)
      add(out.early_stop, early_stop_saving(view, trial, times[i].seconds));
    const auto& same_as = trial.outcome->same_as;
    if (trial.outcome->kind == OutcomeKind::kDuplicate && same_as && same_as->value >= 1 &&
        same_as->value <= view.trials.size()) {
      add(out.dedup, cost_of(view.trials[same_as->value - 1], times[same_as->value - 1].seconds));
    }
  }
  return out;
}

}  // namespace lanista::report
