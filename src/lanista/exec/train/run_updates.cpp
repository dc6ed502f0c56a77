#include "lanista/exec/train/run_updates.h"

#include <algorithm>

#include "lanista/exec/train/learning_rate.h"

namespace lanista::train {

program::LaneHyper hyper_of(const TrialRun& run, std::int64_t ahead) {
  const UpdatePlan plan = run.updates();
  const study::StepSettings& now = plan.setting();  // settings change only between chunks
  const Selection& selection = run.rows().selection();
  const LaneValues& lane = run.state().lane_values();
  program::LaneHyper h;
  const std::int64_t at = run.progress().step_count() + ahead * plan.steps_per_full_update();
  const std::int64_t clock = selection && selection.counts_trained() ? selection.num_trained_batches() : at;
  h.lr = learning_rate(run.definition().input.recipe, now, clock, run.definition().epochs);
  h.momentum = now.momentum;
  h.nesterov = now.nesterov;
  h.weight_decay = now.weight_decay;
  h.beta1 = now.beta1;
  h.beta2 = now.beta2;
  h.eps = now.eps;
  h.clip_norm = now.clip_norm;
  h.label_smoothing = now.label_smoothing;
  h.lane_attrs = lane.attrs;
  h.lr_ranges = lane.lr_ranges;
  return h;
}

std::span<const std::int64_t> rows_of(const TrialRun& run, std::int64_t ahead) {
  const UpdatePlan plan = run.updates();
  const study::EpochSchedule& epochs = run.definition().epochs;
  const std::span<const std::int64_t> order = run.rows().order();
  const auto batch = static_cast<std::size_t>(epochs.batch);
  const std::int64_t step = run.progress().step_count();
  const std::int64_t done = ahead * plan.steps_per_full_update(), steps = plan.steps_of(ahead + 1) - done;
  const std::size_t begin = static_cast<std::size_t>(step - epochs.pass_begin(epochs.pass(step)) + done) * batch;
  return order.subspan(begin, std::min(batch * static_cast<std::size_t>(steps), order.size() - begin));
}

bool shares_batch(const TrialRun& run, const TrialRun& other) {
  if (run.rows().selection() || other.rows().selection()) return false;
  const UpdatePlan plan = run.updates(), others = other.updates();
  const std::int64_t strides = plan.steps_per_full_update();
  if (strides != others.steps_per_full_update()) return false;
  // If one of them ends its epoch within a larger batch, the other reads more rows.
  if (strides > 1 && plan.num_steps() != others.num_steps()) return false;
  const TrialDefinition &one = run.definition(), &two = other.definition();
  return run.progress().step_count() == other.progress().step_count() &&
         one.epochs.all_rows_at == two.epochs.all_rows_at && run.rows().seed() == other.rows().seed() &&
         one.input.data == two.input.data && one.augment_text == two.augment_text;
}

std::int64_t max_updates_in_chunk(const TrialRun& run) {
  if (run.rows().selection()) return 1;
  const UpdatePlan plan = run.updates();
  if (!run.settings().adapter()) return plan.num_updates();
  return std::min(plan.num_updates(),
                  BatchAdapter::max_updates_in_chunk(run.progress().step_count(), plan.steps_per_full_update()));
}

bool measures_gradient_noise(const TrialRun& run) {
  if (!run.settings().adapter()) return false;
  const UpdatePlan plan = run.updates();
  return run.settings().adapter()->is_measured(run.progress().step_count(), plan.steps_in_next(), plan.rows_in_next());
}

std::int64_t recalibration_of(const TrialRun& run) {
  const TrialProgress& progress = run.progress();
  const bool begun = progress.measurements().empty();
  return std::max(run.rows().selection().recalibration(), begun ? run.definition().input.recipe.recalibrate : 0);
}

}  // namespace lanista::train
