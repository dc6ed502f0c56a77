#include "lanista/exec/train/learning_rate.h"

#include <algorithm>
#include <numbers>

#include "lanista/base/portable_math.h"

namespace lanista::train {
namespace {

std::int64_t steps_of(double epochs, const study::EpochSchedule& of) {
  if (of.all_rows_at == 1) return static_cast<std::int64_t>(epochs * static_cast<double>(of.length));
  const auto whole = static_cast<std::int64_t>(epochs);
  const std::int64_t begin = of.steps_through(whole);
  const double next = static_cast<double>(of.steps_through(whole + 1) - begin);
  return begin + static_cast<std::int64_t>((epochs - static_cast<double>(whole)) * next);
}

/// Returns the number of steps of the whole schedule.
std::int64_t schedule_steps(const study::Recipe& recipe, const study::EpochSchedule& epochs) {
  const std::int64_t all = epochs.steps_through(recipe.epochs);
  return epochs.budget > 0 ? std::min(all, epochs.budget) : all;
}

double scheduled_rate(const study::Recipe& recipe, double lr, std::int64_t step, const study::EpochSchedule& epochs) {
  const std::int64_t warmup = steps_of(recipe.warmup_epochs, epochs);
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);

  if (recipe.schedule == "step") {
    double rate = lr;
    const std::int64_t drops = epochs.epochs_completed(step) / std::max<std::int64_t>(1, recipe.step_every);
    for (std::int64_t i = 0; i < drops; ++i) rate *= recipe.step_factor;
    return rate;
  }
  if (recipe.schedule == "cosine") {
    const std::int64_t total = schedule_steps(recipe, epochs) - warmup;
    const double done = static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, total));
    return lr * 0.5 * (1.0 + portable_cos(std::numbers::pi * std::min(done, 1.0)));
  }
  return lr;
}

}  // namespace

double learning_rate(const study::Recipe& recipe, const study::StepSettings& now, std::int64_t step,
                     const study::EpochSchedule& epochs) {
  const double rate = scheduled_rate(recipe, now.lr, step, epochs);
  if (now.ease == 1) return rate;
  const auto eased = static_cast<double>(schedule_steps(recipe, epochs)) * study::kEasedShare;
  return static_cast<double>(step) < eased ? rate * now.ease : rate;
}

double learning_rate(const study::Recipe& recipe, std::int64_t step, const study::EpochSchedule& epochs) {
  return learning_rate(recipe, recipe, step, epochs);
}

double learning_rate(const study::Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch) {
  return learning_rate(recipe, step, {.rows = steps_per_epoch, .length = steps_per_epoch, .budget = recipe.steps});
}

}  // namespace lanista::train
