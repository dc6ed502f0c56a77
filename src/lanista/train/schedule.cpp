#include "lanista/train/schedule.h"

#include <algorithm>
#include <numbers>

#include "lanista/base/portable_math.h"

namespace lanista::train {

namespace {

std::int64_t steps_of(const study::Recipe& recipe, std::int64_t steps_per_epoch) {
  const std::int64_t all = recipe.epochs * steps_per_epoch;
  return recipe.steps > 0 ? std::min(all, recipe.steps) : all;
}

double scheduled(const study::Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch) {
  const auto warmup = static_cast<std::int64_t>(recipe.warmup_epochs * static_cast<double>(steps_per_epoch));
  if (step < warmup) return recipe.lr * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);

  if (recipe.schedule == "step") {
    double rate = recipe.lr;
    const std::int64_t drops = step / steps_per_epoch / std::max<std::int64_t>(1, recipe.step_every);
    for (std::int64_t i = 0; i < drops; ++i) rate *= recipe.step_factor;
    return rate;
  }
  if (recipe.schedule == "cosine") {
    const std::int64_t total = steps_of(recipe, steps_per_epoch) - warmup;
    const double done = static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, total));
    return recipe.lr * 0.5 * (1.0 + portable_cos(std::numbers::pi * std::min(done, 1.0)));
  }
  return recipe.lr;
}

}  // namespace

double learning_rate(const study::Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch) {
  const double rate = scheduled(recipe, step, steps_per_epoch);
  if (recipe.ease == 1) return rate;
  const auto eased = static_cast<double>(steps_of(recipe, steps_per_epoch)) * study::kEasedShare;
  return static_cast<double>(step) < eased ? rate * recipe.ease : rate;
}

}  // namespace lanista::train
