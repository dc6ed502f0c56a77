#include "lanista/engine/core/study_limits.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "lanista/engine/core/last_rung.h"
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

namespace {

/// The training steps of the shortest trial, with the rows of a fold where there are folds.
std::int64_t steps_of_a_trial(const study::StudyConfig& config, const data::DataSpec& data) {
  const auto fold = config.data.folds ? std::optional<std::int64_t>(0) : std::nullopt;
  const auto spec = data::training_spec(data, fold);
  return min_trial_steps(config, spec ? *spec : data);
}

std::string steps_text(std::int64_t steps, const std::string& key, std::int64_t given,
                       const study::StudyConfig& config) {
  const std::int64_t epochs = config.train.length.epochs;
  return key + std::to_string(given) + ", and a trial has at least " + std::to_string(steps) + " steps in its " +
         std::to_string(epochs) + (epochs == 1 ? " epoch" : " epochs") + "; raise budget.steps to at least " +
         std::to_string(steps) + ", or lower train.epochs";
}

/// The largest part of its epochs that a trial has trained.
double trained_share(const StudyView& view) {
  double share = 0;
  for (const auto& trial : view.trials) {
    if (trial.measurements.empty()) continue;
    const auto epochs = static_cast<double>(study::full_epochs(trial.proposal));
    share = std::max(share, static_cast<double>(trial.measurements.back().epoch) / epochs);
  }
  return share;
}

std::string minutes_text(double minutes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", minutes);
  return text.data();
}

}  // namespace

Result<void> check_steps_budget(const study::StudyConfig& config, const data::DataSpec& data) {
  if (!config.budget.steps || config.data.rules == study::kFirstRules || pauses_at_rungs(config)) return {};
  const std::int64_t steps = steps_of_a_trial(config, data);
  if (steps <= *config.budget.steps) return {};
  return Error{Code::kInvalidArgument, steps_text(steps, "is ", *config.budget.steps, config), "budget.steps"};
}

std::string short_budget_text(const StudyView& view, const data::DataSpec& data) {
  const study::BudgetConfig& budget = view.config.budget;
  const std::int64_t steps = steps_of_a_trial(view.config, data);
  if (view.end_reason == "budget" && budget.steps && view.trials.empty() && steps > *budget.steps) {
    return steps_text(steps, "budget.steps is ", *budget.steps, view.config);
  }
  if (view.end_reason != "guard" || !budget.guard_minutes) return "";
  const double share = trained_share(view), seconds = view.seconds;
  std::string text = "budget.guard_minutes is " + minutes_text(*budget.guard_minutes) + ", and no trial has ended in ";
  text += minutes_text(seconds / 60) + " minutes; ";
  if (share <= 0 || share >= 1) return text + "raise budget.guard_minutes (--minutes), or lower train.epochs";
  constexpr double kReserve = 1.2;
  return text + "one had " + minutes_text(100 * share) + " % of its epochs; set budget.guard_minutes (--minutes) to " +
         "about " + minutes_text(kReserve * seconds / 60 / share) + ", or lower train.epochs";
}

}  // namespace lanista::engine
