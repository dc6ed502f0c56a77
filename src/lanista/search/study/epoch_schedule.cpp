#include "lanista/search/study/epoch_schedule.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lanista::study {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// Returns the sum of k * a / b, each rounded up, for k from 1 to n. It counts lattice points under a line as in
/// Euclid's algorithm. O(log b).
std::int64_t sum_of_ceil_divisions(std::int64_t a, std::int64_t b, std::int64_t n) {
  std::int64_t shift = b - 1, sum = 0;  // of (a k + shift) / b, rounded down
  // Whole parts of a / b and shift / b are added. For the remainders, the roles of the axes are exchanged.
  for (++n; n > 0;) {
    sum += n * (n - 1) / 2 * (a / b) + n * (shift / b);
    a %= b;
    shift %= b;
    const std::int64_t top = a * n + shift;
    n = top / b;
    shift = top % b;
    std::swap(a, b);
  }
  return sum;
}

}  // namespace

std::int64_t EpochSchedule::pass_rows(std::int64_t pass) const {
  return ceil_divide(rows * std::min(pass + 1, all_rows_at), all_rows_at);
}

std::int64_t EpochSchedule::pass_begin(std::int64_t pass) const {
  const std::int64_t growing = std::min(pass, all_rows_at - 1);
  const std::int64_t grown = (pass - growing) * pass_steps();
  return growing == 0 ? grown : sum_of_ceil_divisions(rows, batch * all_rows_at, growing) + grown;
}

std::int64_t EpochSchedule::pass(std::int64_t step) const {
  const std::int64_t grown = pass_begin(all_rows_at - 1);
  if (step >= grown) return all_rows_at - 1 + (step - grown) / pass_steps();
  std::int64_t at = 0, behind = all_rows_at - 1;  // pass_begin(at) <= step < pass_begin(behind)
  while (behind - at > 1) {
    const std::int64_t middle = at + (behind - at) / 2;
    (pass_begin(middle) <= step ? at : behind) = middle;
  }
  return at;
}

std::int64_t EpochSchedule::epochs_completed(std::int64_t steps) const {
  if (all_rows_at > 1) return pass(steps);
  if (budget == 0 || steps < budget) return steps / length;
  return ceil_divide(budget, length) + (steps - budget) / length;
}

std::int64_t EpochSchedule::steps_through(std::int64_t epochs) const {
  if (all_rows_at > 1) return pass_begin(epochs);
  const std::int64_t whole = ceil_divide(budget, length);
  if (budget == 0 || epochs < whole) return epochs * length;
  return budget + (epochs - whole) * length;
}

std::int64_t EpochSchedule::rows_read(std::int64_t steps) const {
  const std::int64_t at = pass(steps), growing = std::min(at, all_rows_at - 1);
  return sum_of_ceil_divisions(rows, all_rows_at, growing) + (at - growing) * rows +
         std::min((steps - pass_begin(at)) * batch, pass_rows(at));
}

std::int64_t EpochSchedule::num_passes(std::int64_t epochs) const {
  if (all_rows_at > 1) return ceil_divide(rows_read(steps_through(epochs)), rows);
  return ceil_divide(steps_through(epochs), std::max<std::int64_t>(1, pass_steps()));
}

EpochSchedule epoch_schedule_of(const Recipe& recipe, std::int64_t rows) {
  EpochSchedule out{.rows = rows,
                    .batch = recipe.batch,
                    .length = recipe.steps_per_epoch,
                    .budget = recipe.steps,
                    .all_rows_at = recipe.all_rows_at};
  if (out.length == 0) out.length = out.pass_steps();
  return out;
}

Result<void> resolve_epochs(TrainConfig& train) {
  if (!train.length.steps || !train.length.steps_per_epoch) return {};
  const std::int64_t epochs = ceil_divide(*train.length.steps, *train.length.steps_per_epoch);
  if (epochs > kMaxEpochs) {
    return Error{Code::kInvalidArgument,
                 std::to_string(*train.length.steps) + " steps are " + std::to_string(epochs) + " epochs of " +
                     std::to_string(*train.length.steps_per_epoch) + "; at most " + std::to_string(kMaxEpochs) +
                     " are allowed",
                 "train.steps"};
  }
  train.length.epochs = epochs;
  return {};
}

}  // namespace lanista::study
