#pragma once

#include <cstdint>

#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::train {

/// The learning rate of 0-based step `step` of a trial with these epochs, and recipe.epochs of them.
///
/// Warm-up is linear from lr/(w+1) to lr over w = warmup_epochs * epochs.length steps (where epochs grow: the steps of
/// the whole ones, and so much of the next). After it: constant; step
/// (times step_factor every step_every epochs, counted from the start); cosine (to zero at the last step, Loshchilov
/// and Hutter, ICLR'17, without restarts). Whichever it is, the steps of the first twentieth have `ease` of it. `now`
/// has lr and ease, which may be others than those that the recipe began with.
double learning_rate(const study::Recipe& recipe, const study::StepSettings& now, std::int64_t step,
                     const study::EpochSchedule& epochs);
/// With the recipe's own.
double learning_rate(const study::Recipe& recipe, std::int64_t step, const study::EpochSchedule& epochs);
/// Where all epochs have so many steps, and their budget is recipe.steps.
double learning_rate(const study::Recipe& recipe, std::int64_t step, std::int64_t steps_per_epoch);

}  // namespace lanista::train
