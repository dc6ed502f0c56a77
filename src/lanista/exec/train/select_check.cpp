// Of a trial that selects its examples where that has won: the check, what a run tells of it, and what a state does.
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

/// One of the two branches, on its way.
struct Contestant {
  TrialRun run;
  study::SelectBranch told;
  std::string failure = {};
};

/// Steps while `goes_on` says so. False: it was left.
bool train(LaneGroup& group, Contestant& one, const std::function<bool(const Contestant&)>& goes_on,
           const std::function<bool()>& leaves) {
  TrialRun* const run = &one.run;
  while (one.failure.empty() && goes_on(one)) {
    if (leaves()) return false;
    StepEnd end;
    group.step({&run, 1}, {&end, 1});
    one.failure = end.failure;
    if (end.failure.empty()) ++one.told.steps;
  }
  return true;
}

/// What decides of the branch's metrics.
Result<void> measure(LaneGroup& group, Contestant& one, const std::string& on) {
  if (!one.failure.empty()) return {};
  LANISTA_ASSIGN(const auto metrics, group.measured(one.run));
  one.told.metric = !on.empty() ? on : metrics.contains("val_accuracy") ? "val_accuracy" : "val_loss";
  const auto found = metrics.find(one.told.metric);
  if (found != metrics.end()) {
    one.told.value = found->second;
    return {};
  }
  std::string measured;
  for (const auto& [name, value] : metrics) measured += (measured.empty() ? "" : ", ") + name;
  return Error{Code::kInvalidArgument, "'" + on + "' is not measured; what is: " + measured, "train.select.auto.on"};
}

/// Chosen examples have to win; what is level is trained on whole.
bool wins(const study::SelectBranch& chosen, const study::SelectBranch& all) {
  if (!std::isfinite(chosen.value)) return false;
  if (std::isnan(all.value)) return true;
  const bool more = study::more_is_better(chosen.metric).value_or(false);
  return more ? chosen.value > all.value : chosen.value < all.value;
}

}  // namespace

bool TrialRun::wants_select_check() const {
  if (!select_guard() || selecting_ || epochs().begin(step_) != step_) return false;
  std::optional<std::int64_t> last;
  if (!selection_.found().empty()) last = epochs().over(selection_.found().back().step);
  return select_guard()->is_due(epochs().over(step_), last);
}

Result<TrialRun> TrialRun::selecting(bool selects) const {
  if (!state_) {
    return Error{Code::kFailedPrecondition,
                 "trial " + std::to_string(trial().value) + " cannot branch: there is no state in memory", ""};
  }
  LANISTA_ASSIGN(TrialRun out, copied());
  out.selection_.decide(step_, selects);
  out.trained_before_ = out.selection_.trained();
  return out;
}

double TrialRun::select_cost() const {
  return select_guard() ? select_guard()->cost(selection_.looked(), selection_.trained() - trained_before_) : 0;
}

void TrialRun::note_selecting(std::vector<study::SelectBranch> branches, TrialRun* winner) {
  selecting_ = std::move(branches);
  if (winner == nullptr) return;
  selection_ = std::move(winner->selection_);
  state_ = std::move(winner->state_);
  step_ = winner->step_;
  loss_sum_ = winner->loss_sum_;
  start_.reset();
}

Result<std::vector<study::SelectingAt>> TrialRun::read_selecting(
    const std::map<std::string, std::string>& facts, std::span<const study::Measurement> measurements,
    std::optional<std::vector<study::SelectBranch>>& before) const {
  std::vector<study::Measurement> told(measurements.begin(), measurements.end());
  if (const auto fact = facts.find("selecting"); fact != facts.end()) {
    const auto list = nlohmann::json::parse(fact->second, nullptr, false);
    if (!list.is_array()) return Error{Code::kDataLoss, "checkpoint's 'selecting' is not a list", ""};
    before.emplace();
    for (const auto& item : list) {
      LANISTA_ASSIGN(auto branch, study::select_branch_from_json(item));
      before->push_back(std::move(branch));
    }
    told.emplace_back().selecting = *before;
  }
  return study::selecting_of(told);
}

Result<bool> check_selecting(LaneGroup& group, TrialRun& run, const std::function<bool()>& leaves) {
  const data::SelectGuard& guard = *run.select_guard();
  const std::int64_t longest = run.steps_left() - 1;
  if (longest < 1) {
    run.note_selecting({}, nullptr);
    return true;
  }
  const auto contestant = [&](bool selects) -> Result<Contestant> {
    LANISTA_ASSIGN(TrialRun branch, run.selecting(selects));
    return Contestant{std::move(branch), {run.step_count(), selects, 0, 0, guard.on, kNoValue, false}};
  };
  LANISTA_ASSIGN(Contestant chosen, contestant(true));
  LANISTA_ASSIGN(Contestant all, contestant(false));
  const double step = guard.cost(0, run.setting().batch);
  const std::int64_t most = std::min(guard.steps, longest);
  // Never more than the other could spend.
  const double dearest = guard.cost(run.setting().batch, run.setting().batch);
  const auto selects_on = [&](const Contestant& one) {
    return one.told.steps < most && one.run.select_cost() + dearest <= step * static_cast<double>(longest);
  };
  if (!train(group, chosen, selects_on, leaves)) return false;
  // As many steps on all examples as come nearest to what that has cost.
  const double spent = chosen.run.select_cost();
  const auto goes_on = [&](const Contestant& one) {
    return one.told.steps < longest && one.run.select_cost() + step / 2 <= spent;
  };
  if (!train(group, all, goes_on, leaves)) return false;
  for (Contestant* one : {&chosen, &all}) {
    one->told.cost = one->run.select_cost() / step;
    LANISTA_TRY(measure(group, *one, guard.on));
  }
  chosen.told.kept = wins(chosen.told, all.told);
  all.told.kept = !chosen.told.kept && all.failure.empty();
  TrialRun* const winner = chosen.told.kept ? &chosen.run : all.told.kept ? &all.run : nullptr;
  run.note_selecting({chosen.told, all.told}, winner);
  return true;
}

}  // namespace lanista::train
