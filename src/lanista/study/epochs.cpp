#include "lanista/study/epochs.h"

#include <algorithm>
#include <string>

namespace lanista::study {
namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

std::int64_t Epochs::over(std::int64_t steps) const {
  if (budget == 0 || steps < budget) return steps / length;
  return divided_up(budget, length) + (steps - budget) / length;
}

std::int64_t Epochs::through(std::int64_t epochs) const {
  const std::int64_t whole = divided_up(budget, length);
  if (budget == 0 || epochs < whole) return epochs * length;
  return budget + (epochs - whole) * length;
}

std::int64_t Epochs::rows_read(std::int64_t steps) const {
  const std::int64_t pass = pass_steps();
  return steps / pass * rows + std::min(steps % pass * batch, rows);
}

std::int64_t Epochs::passes(std::int64_t epochs) const {
  return divided_up(through(epochs), std::max<std::int64_t>(1, pass_steps()));
}

Epochs epochs_of(const Recipe& recipe, std::int64_t rows) {
  Epochs out{.rows = rows, .batch = recipe.batch, .length = recipe.steps_per_epoch, .budget = recipe.steps};
  if (out.length == 0) out.length = out.pass_steps();
  return out;
}

Result<void> settle_epochs(TrainConfig& train) {
  if (!train.steps || !train.steps_per_epoch) return {};
  const std::int64_t epochs = divided_up(*train.steps, *train.steps_per_epoch);
  if (epochs > kMaxEpochs) {
    return Error{Code::kInvalidArgument,
                 std::to_string(*train.steps) + " steps are " + std::to_string(epochs) + " epochs of " +
                     std::to_string(*train.steps_per_epoch) + "; at most " + std::to_string(kMaxEpochs) +
                     " are allowed",
                 "train.steps"};
  }
  train.epochs = epochs;
  return {};
}

}  // namespace lanista::study
