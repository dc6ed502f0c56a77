#include "lanista/exec/train/select_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/exec/train/branch_point.h"
#include "lanista/search/study/metric.h"

namespace lanista::train {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// One of the two branches in training.
struct SelectBranchRun {
  TrialRun run;
  study::SelectBranch record;
  std::int64_t rows_before = 0;  // trained rows of its epoch when it was made
  std::string failure = {};

  /// The cost of its passes since it was made, by the rules of the comparison.
  double cost(const data::SelectionComparison& rules) const {
    const Selection& selection = run.rows().selection();
    return rules.cost(selection.num_losses_computed(), selection.num_trained_rows() - rows_before);
  }
};

/// Trains while `keeps_training` returns true. Returns false if it was stopped.
bool train(LaneGroup& group, SelectBranchRun& one, const std::function<bool(const SelectBranchRun&)>& keeps_training,
           const std::function<bool()>& should_stop) {
  TrialRun* const run = &one.run;
  while (one.failure.empty() && keeps_training(one)) {
    if (should_stop()) return false;
    StepResult end;
    group.step({&run, 1}, {&end, 1});
    one.failure = end.failure;
    if (end.failure.empty()) ++one.record.steps;
  }
  return true;
}

/// Measures the branch and notes the metric that decides.
Result<void> measure(LaneGroup& group, SelectBranchRun& one, const std::string& on) {
  if (!one.failure.empty()) return {};
  LANISTA_ASSIGN(const auto metrics, group.measure_copy(one.run));
  one.record.metric = !on.empty() ? on : metrics.contains("val_accuracy") ? "val_accuracy" : "val_loss";
  const auto found = metrics.find(one.record.metric);
  if (found != metrics.end()) {
    one.record.value = found->second;
    return {};
  }
  std::string measured;
  for (const auto& [name, value] : metrics) measured += (measured.empty() ? "" : ", ") + name;
  return Error{Code::kInvalidArgument, "'" + on + "' is not measured; measured are: " + measured,
               "train.select.auto.on"};
}

/// Whether selected examples win; a tie counts for all examples.
bool selected_rows_win(const study::SelectBranch& chosen, const study::SelectBranch& all) {
  if (!std::isfinite(chosen.value)) return false;
  if (std::isnan(all.value)) return true;
  const bool more = study::more_is_better(chosen.metric).value_or(false);
  return more ? chosen.value > all.value : chosen.value < all.value;
}

}  // namespace

bool is_select_check_due(const TrialRun& run) {
  const TrialDefinition& trial = run.definition();
  const std::int64_t step = run.progress().step_count();
  if (!trial.selection_comparison || run.records().select_check || trial.epochs.begin(step) != step) return false;
  std::optional<std::int64_t> last;
  const std::vector<study::SelectionChange>& changes = run.rows().selection().changes();
  if (!changes.empty()) last = trial.epochs.epochs_completed(changes.back().step);
  return trial.selection_comparison->is_due(trial.epochs.epochs_completed(step), last);
}

Result<bool> run_select_check(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop) {
  BranchPoint epoch_begin(run);
  const data::SelectionComparison& guard = *run.definition().selection_comparison;
  const std::int64_t longest = run.updates().steps_left_in_epoch() - 1;
  if (longest < 1) {
    epoch_begin.record_select_check({}, nullptr);
    return true;
  }
  const auto make_branch = [&](bool selects) -> Result<SelectBranchRun> {
    LANISTA_ASSIGN(TrialRun branch, epoch_begin.select_branch(selects));
    const std::int64_t rows_before = branch.rows().selection().num_trained_rows();
    const study::SelectBranch record{run.progress().step_count(), selects, 0, 0, guard.on, kNoValue, false};
    return SelectBranchRun{std::move(branch), record, rows_before};
  };
  LANISTA_ASSIGN(SelectBranchRun chosen, make_branch(true));
  LANISTA_ASSIGN(SelectBranchRun all, make_branch(false));
  const std::int64_t batch = run.updates().setting().batch;
  const double step = guard.cost(0, batch);
  const std::int64_t most = std::min(guard.steps, longest);
  // At most the cost of the other branch.
  const double max_step_cost = guard.cost(batch, batch);
  const auto selects_on = [&](const SelectBranchRun& one) {
    return one.record.steps < most && one.cost(guard) + max_step_cost <= step * static_cast<double>(longest);
  };
  if (!train(group, chosen, selects_on, should_stop)) return false;
  // The number of steps on all examples with a cost nearest to that.
  const double spent = chosen.cost(guard);
  const auto keeps_training = [&](const SelectBranchRun& one) {
    return one.record.steps < longest && one.cost(guard) + step / 2 <= spent;
  };
  if (!train(group, all, keeps_training, should_stop)) return false;
  for (SelectBranchRun* one : {&chosen, &all}) {
    one->record.cost = one->cost(guard) / step;
    LANISTA_TRY(measure(group, *one, guard.on));
  }
  chosen.record.kept = selected_rows_win(chosen.record, all.record);
  all.record.kept = !chosen.record.kept && all.failure.empty();
  TrialRun* const winner = chosen.record.kept ? &chosen.run : all.record.kept ? &all.run : nullptr;
  epoch_begin.record_select_check({chosen.record, all.record}, winner);
  return true;
}

}  // namespace lanista::train
