// The selection comparison of a trial: the check, its record in a run, and its part of a state.
#include "lanista/exec/train/select_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "lanista/search/study/metric.h"

namespace lanista::train {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// One of the two branches in training.
struct SelectBranchRun {
  TrialRun run;
  study::SelectBranch record;
  std::string failure = {};
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

bool TrialRun::is_select_check_due() const {
  if (!selection_comparison() || select_check_ || epochs().begin(step_) != step_) return false;
  std::optional<std::int64_t> last;
  if (!selection_.changes().empty()) last = epochs().epochs_completed(selection_.changes().back().step);
  return selection_comparison()->is_due(epochs().epochs_completed(step_), last);
}

Result<TrialRun> TrialRun::select_branch(bool selects) const {
  if (!state_) {
    return Error{Code::kFailedPrecondition,
                 "trial " + std::to_string(trial().value) + " cannot branch: there is no state in memory", ""};
  }
  LANISTA_ASSIGN(TrialRun out, copy_with_state());
  out.selection_.set_selecting(step_, selects);
  out.rows_trained_before_copy_ = out.selection_.num_trained_rows();
  return out;
}

double TrialRun::select_cost() const {
  return selection_comparison()
             ? selection_comparison()->cost(selection_.num_losses_computed(),
                                            selection_.num_trained_rows() - rows_trained_before_copy_)
             : 0;
}

void TrialRun::record_select_check(std::vector<study::SelectBranch> branches, TrialRun* winner) {
  select_check_ = std::move(branches);
  if (winner == nullptr) return;
  selection_ = std::move(winner->selection_);
  state_ = std::move(winner->state_);
  step_ = winner->step_;
  loss_sum_ = winner->loss_sum_;
  start_.reset();
}

Result<std::vector<study::SelectionChange>> TrialRun::read_selection_changes(
    const std::map<std::string, std::string>& facts, std::span<const study::Measurement> measurements,
    std::optional<std::vector<study::SelectBranch>>& before) const {
  std::vector<study::Measurement> record(measurements.begin(), measurements.end());
  if (const auto fact = facts.find("selecting"); fact != facts.end()) {
    const auto list = nlohmann::json::parse(fact->second, nullptr, false);
    if (!list.is_array()) return Error{Code::kDataLoss, "checkpoint's 'selecting' is not a list", ""};
    before.emplace();
    for (const auto& item : list) {
      LANISTA_ASSIGN(auto branch, study::select_branch_from_json(item));
      before->push_back(std::move(branch));
    }
    record.emplace_back().selecting = *before;
  }
  return study::selection_changes(record);
}

Result<bool> run_select_check(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop) {
  const data::SelectionComparison& guard = *run.selection_comparison();
  const std::int64_t longest = run.steps_left() - 1;
  if (longest < 1) {
    run.record_select_check({}, nullptr);
    return true;
  }
  const auto make_branch = [&](bool selects) -> Result<SelectBranchRun> {
    LANISTA_ASSIGN(TrialRun branch, run.select_branch(selects));
    return SelectBranchRun{std::move(branch), {run.step_count(), selects, 0, 0, guard.on, kNoValue, false}};
  };
  LANISTA_ASSIGN(SelectBranchRun chosen, make_branch(true));
  LANISTA_ASSIGN(SelectBranchRun all, make_branch(false));
  const double step = guard.cost(0, run.setting().batch);
  const std::int64_t most = std::min(guard.steps, longest);
  // At most the cost of the other branch.
  const double max_step_cost = guard.cost(run.setting().batch, run.setting().batch);
  const auto selects_on = [&](const SelectBranchRun& one) {
    return one.record.steps < most && one.run.select_cost() + max_step_cost <= step * static_cast<double>(longest);
  };
  if (!train(group, chosen, selects_on, should_stop)) return false;
  // The number of steps on all examples with a cost nearest to that.
  const double spent = chosen.run.select_cost();
  const auto keeps_training = [&](const SelectBranchRun& one) {
    return one.record.steps < longest && one.run.select_cost() + step / 2 <= spent;
  };
  if (!train(group, all, keeps_training, should_stop)) return false;
  for (SelectBranchRun* one : {&chosen, &all}) {
    one->record.cost = one->run.select_cost() / step;
    LANISTA_TRY(measure(group, *one, guard.on));
  }
  chosen.record.kept = selected_rows_win(chosen.record, all.record);
  all.record.kept = !chosen.record.kept && all.failure.empty();
  TrialRun* const winner = chosen.record.kept ? &chosen.run : all.record.kept ? &all.run : nullptr;
  run.record_select_check({chosen.record, all.record}, winner);
  return true;
}

}  // namespace lanista::train
