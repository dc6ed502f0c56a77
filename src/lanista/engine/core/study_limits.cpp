#include "lanista/engine/core/study_limits.h"

#include <algorithm>

#include "lanista/engine/core/study_setup.h"

namespace lanista::engine {

bool is_trial_budget_spent(const StudyState& state) {
  return state.trials && static_cast<std::int64_t>(state.view.trials.size()) >= *state.trials;
}

Engine::Extension suggested_extension(const StudyState& state, const data::DataSpec& data) {
  const StudyView& view = state.view;
  const bool stopped = view.end_reason == "stopped by the user";
  if (!stopped && view.end_reason != "budget" && view.end_reason != "guard") return {};
  const study::BudgetConfig& budget = view.config.budget;
  const std::int64_t least = min_trial_steps(view.config, data);
  const auto trials = static_cast<std::int64_t>(view.trials.size());
  const auto as_many_steps = [&] { return std::max(least, budget.steps.value_or(view.steps)); };
  Engine::Extension out;
  if (is_trial_budget_spent(state)) out.trials = std::max<std::int64_t>(1, trials);
  if (state.steps && view.steps + least > *state.steps) out.steps = as_many_steps();
  if (out.empty() && stopped) {
    if (state.trials) {
      out.trials = *state.trials - trials;
    } else if (state.steps) {
      out.steps = *state.steps - view.steps;
    }
  } else if (out.empty() && state.steps && view.end_reason == "budget") {
    out.steps = as_many_steps();  // a shortest trial would fit, the proposed ones did not
  }
  // A smaller extension would soon end the study again.
  const double left = state.minutes ? *state.minutes * 60 - view.seconds : 0;
  if (state.minutes && (stopped ? left <= 0 : left < view.seconds)) {
    out.minutes = budget.guard_minutes.value_or(*state.minutes);
  } else if (state.minutes && out.empty()) {
    out.minutes = std::max(left / 60, 0.001);
  }
  return out;
}

}  // namespace lanista::engine
