#pragma once

#include <cstdint>

#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::train {

/// Returns the learning rate of 0-based step `step`, in training with recipe.epochs epochs of this schedule.
///
/// Warm-up is linear from lr/(w+1) to lr over w = warmup_epochs * epochs.length steps. If epochs grow, w counts the
/// steps of the whole epochs and a share of the next. After it the rate is constant, step or cosine. Step multiplies by
/// step_factor every step_every epochs, counted from the start. Cosine falls from lr after the warm-up towards zero,
/// which it reaches one step after the last (Loshchilov and Hutter, ICLR'17, without restarts). In the first twentieth
/// of all steps the rate is multiplied by `ease`. `now` gives lr and ease, which may differ from the recipe's first
/// setting. Portable math: the same bits on every machine.
double learning_rate(const study::Recipe& recipe, const study::StepSettings& now, std::int64_t step,
                     const study::EpochSchedule& epochs);
/// Returns the learning rate of 0-based step `step` with the recipe's own setting.
double learning_rate(const study::Recipe& recipe, std::int64_t step, const study::EpochSchedule& epochs);
/// Returns the learning rate of 0-based step `step` with the recipe's own setting, if every epoch has `steps_per_epoch`
/// steps. The budget is recipe.steps.
double learning_rate(const study::Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch);

}  // namespace lanista::train
