#include "lanista/plan/elastic/elastic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/elastic/decision_builder.h"
#include "lanista/plan/elastic/fluid.h"

namespace lanista::plan {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class DeadlinePolicy : public Policy {
 public:
  DeadlinePolicy(const PlanTarget& target, const ElasticOptions& options) : target_(target), options_(options) {}
  std::string_view name() const override { return "towards"; }
  Decision decide(const SchedulerState& state) const override;

 private:
  PlanTarget target_;
  ElasticOptions options_;
};

/// One decision of the deadline policy.
class DeadlineDecision {
 public:
  DeadlineDecision(const SchedulerState& state, const PlanTarget& target, const ElasticOptions& options)
      : at_(state), target_(target), options_(options), builder_(state), has_moved_(state.tasks.size()) {
    left_ = std::max(0.0, target.deadline - state.now);
    widest_ = std::min(state.cluster.widest, state.num_alive());
    order_ = longest_first(state);
    if (target.keeps_arrival_order) {
      std::ranges::sort(order_);
    } else if (target.orders_by_work || target.order_seed != 0) {
      std::vector<double> size;
      for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
        const double estimated_size = remaining(task(i), 1) * (target.orders_by_work ? task(i).expected.busy : 1);
        size.push_back(target.order_seed == 0 ? estimated_size : estimated_size * sampled_factor(i));
      }
      std::ranges::stable_sort(order_, std::greater(), [&](std::size_t i) { return size[i]; });
    }
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) needs_.push_back(need(i));
  }

  Decision decide() && {
    double wanted = 0;
    for (const std::size_t i : order_) wanted += builder_.placement(i).waits() ? static_cast<double>(needs_[i]) : 0;
    // Without a deadline no trial has more than it needs.
    if (left_ < kNoLimit && wanted > static_cast<double>(builder_.num_free())) shrink_wide(wanted);
    for (const std::size_t i : order_) {
      if (!builder_.placement(i).waits()) {
        if (seconds_to_end(i) > left_) widen_late(i);
        continue;
      }
      start(i, wanted);
      wanted -= static_cast<double>(needs_[i]);
    }
    if (std::ranges::none_of(order_, [&](std::size_t i) { return builder_.placement(i).waits(); })) use_free_workers();
    builder_.rebalance_parts();
    return std::move(builder_).decision(target_);
  }

 private:
  const Task& task(std::size_t i) const { return at_.tasks[i]; }
  std::int64_t width(std::size_t i) const { return static_cast<std::int64_t>(builder_.placement(i).workers.size()); }
  bool shares(std::size_t i) const {
    return width(i) == 1 && builder_.load(builder_.placement(i).workers.front()).count > 1;
  }

  double sampled_factor(std::size_t i) const {
    constexpr double kWide = 0.3;
    return 1 + kWide * Rng(target_.order_seed).split(static_cast<std::uint64_t>(task(i).id)).uniform(-1, 1);
  }

  /// Returns the seconds that a move costs now. Zero if the trial has not begun, or was moved in this decision.
  double cost(std::size_t i) const { return task(i).has_begun && !has_moved_[i] ? task(i).expected.resize : 0; }
  bool is_in_cool_down(std::size_t i) const {
    return task(i).has_begun && !task(i).placement.waits() &&
           at_.now < task(i).changed_at + options_.cool_down * task(i).expected.resize;
  }
  double stall(std::size_t i) const {
    return has_moved_[i] ? cost_paid(i) : std::max(0.0, task(i).stalled_until - at_.now);
  }
  double cost_paid(std::size_t i) const { return task(i).has_begun ? task(i).expected.resize : 0; }

  /// Returns the seconds until it ends at its placement, if the other trials there stay.
  double seconds_to_end(std::size_t i) const {
    if (width(i) != 1) return stall(i) + remaining(task(i), width(i));
    const WorkerLoad& load = builder_.load(builder_.placement(i).workers.front());
    return stall(i) + remaining(task(i), 1) * (load.count > 1 ? slowdown(load.busy, load.count, at_.cluster) : 1);
  }

  std::int64_t widest(std::size_t i) const { return std::min(widest_, widest_of(task(i), at_.cluster)); }

  /// Returns the fewest workers with which it meets the deadline. If none do, it returns its fastest width.
  std::int64_t need(std::size_t i) const {
    const std::int64_t has = static_cast<std::int64_t>(task(i).placement.workers.size());
    for (std::int64_t w = 1; w <= widest(i); ++w) {
      const double change = task(i).has_begun && w != has ? task(i).expected.resize : 0;
      if (change + remaining(task(i), w) <= left_) return w;
    }
    return fastest_width(task(i).expected, widest_);
  }

  /// Takes workers from trials that have more than they need (Fluid's scale-down to the new width).
  void shrink_wide(double wanted) {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const std::size_t i = *it;
      if (static_cast<double>(builder_.num_free()) >= wanted) return;
      if (width(i) <= needs_[i] || is_in_cool_down(i)) continue;
      if (cost(i) + remaining(task(i), needs_[i]) > left_) continue;
      if (!resizes(task(i).expected, task(i).left, {width(i), 1}, {needs_[i], 1}, at_.cluster)) continue;
      builder_.resize(i, needs_[i]);
      has_moved_[i] = true;
    }
  }

  /// Returns true if `after` seconds at a new placement are less than `before` by the least gain. A trial that has
  /// begun must gain even with the shortest time and the most expensive move that its error allows.
  bool is_worth_moving(std::size_t i, double before, double after) const {
    const Prediction& trial = task(i).expected;
    if (!task(i).has_begun) return after < before * (1 - options_.min_gain);
    const double shorter = 1 / (1 + trial.error), longer = 1 / std::max(1e-3, 1 - trial.error);
    return longer * trial.resize + shorter * after < shorter * before * (1 - options_.min_gain);
  }

  void start(std::size_t i, double wanted) {
    const double free = static_cast<double>(builder_.num_free());
    if (needs_[i] > 1 || free >= wanted) {
      if (builder_.num_free() > 0) {
        builder_.assign_workers(i, std::min(needs_[i], builder_.num_free()));
        has_moved_[i] = true;
      }
      return;
    }
    std::int32_t best = -1;
    for (std::int32_t worker = 0; worker < builder_.num_workers(); ++worker) {
      if (!may_share(i, worker)) continue;
      const bool busier = best >= 0 && builder_.load(worker).busy > builder_.load(best).busy;
      if (best < 0 || busier != target_.prefers_least_busy) best = worker;
    }
    if (best >= 0) {
      builder_.join(i, best);
      has_moved_[i] = true;
    } else if (builder_.num_free() > 0) {
      builder_.assign_workers(i, 1);
      has_moved_[i] = true;
    }
  }

  /// Returns true if it may join the trials of the worker: the worker gets busier within the limit, and no trial is
  /// late.
  bool may_share(std::size_t i, std::int32_t worker) const {
    const WorkerLoad& load = builder_.load(worker);
    if (load.count == 0 || load.count >= target_.most || load.busy + task(i).expected.busy > target_.max_busy)
      return false;
    if (!builder_.can_join(i, worker)) return false;
    const double before = load.count > 1 ? slowdown(load.busy, load.count, at_.cluster) : 1;
    const double after = slowdown(load.busy + task(i).expected.busy, load.count + 1, at_.cluster);
    // Sharing pays if the trials together do more than one after another.
    const double gain =
        std::min(1.0, load.busy + task(i).expected.busy) / (after / std::max(1.0, load.busy + task(i).expected.busy)) -
        std::min(1.0, load.busy) / (before / std::max(1.0, load.busy));
    if (gain <= options_.min_gain) return false;
    if (cost(i) + remaining(task(i), 1) * after > left_) return false;
    for (std::size_t k = 0; k < at_.tasks.size(); ++k) {
      if (k == i || width(k) != 1 || builder_.placement(k).workers.front() != worker) continue;
      if (stall(k) + remaining(task(k), 1) * after > left_) return false;
    }
    return true;
  }

  /// Gives free workers to a trial that would be late.
  void widen_late(std::size_t i) { add_workers(i, needs_[i]); }

  /// Gives spare workers to the trial that would end last. A trial that shares may move to a less busy worker.
  void use_free_workers() {
    std::vector<bool> tried(at_.tasks.size());
    while (true) {
      std::size_t last = at_.tasks.size();
      for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
        if (!tried[i] && (last == at_.tasks.size() || seconds_to_end(i) > seconds_to_end(last))) last = i;
      }
      if (last == at_.tasks.size()) return;
      if (!add_workers(last, widest(last))) tried[last] = true;
    }
  }

  /// Moves it to a better worker, or gives it more workers up to `most`, if that pays. Returns false if nothing
  /// changed.
  bool add_workers(std::size_t i, std::int64_t most) {
    const double now = seconds_to_end(i);
    if (shares(i)) return !is_in_cool_down(i) && move_to_less_busy(i, now * (1 - options_.min_gain));
    if (width(i) >= most || builder_.num_free() == 0 || is_in_cool_down(i)) return false;
    std::int64_t best = width(i);
    for (std::int64_t w = width(i) + 1; w <= std::min(most, width(i) + builder_.num_free()); ++w) {
      if (is_worth_moving(i, now, remaining(task(i), w))) {
        best = w;
        break;
      }
    }
    if (best == width(i)) return false;
    builder_.resize(i, best);
    has_moved_[i] = true;
    return true;
  }

  /// Moves a trial that shares to the worker on which it ends first, if that is within `limit`. All trials of that
  /// worker must still end within the limit.
  bool move_to_less_busy(std::size_t i, double limit) {
    const std::int32_t from = builder_.placement(i).workers.front();
    std::int32_t best = -1;
    for (std::int32_t worker = 0; worker < builder_.num_workers(); ++worker) {
      if (worker == from || !builder_.can_join(i, worker)) continue;
      const WorkerLoad& load = builder_.load(worker);
      const double slow = load.count > 0 ? slowdown(load.busy + task(i).expected.busy, load.count + 1, at_.cluster) : 1;
      const double then = cost_paid(i) + remaining(task(i), 1) * slow;
      if (then >= limit || !leaves_time(worker, slow, limit) ||
          !is_worth_moving(i, seconds_to_end(i), then - cost_paid(i)))
        continue;
      best = worker;
      limit = then;
    }
    if (best < 0) return false;
    builder_.remove(i);
    builder_.join(i, best);
    has_moved_[i] = true;
    return true;
  }

  /// Returns true if all trials of a worker end within `limit` when they are slower by the factor `slow`.
  bool leaves_time(std::int32_t worker, double slow, double limit) const {
    for (std::size_t k = 0; k < at_.tasks.size(); ++k) {
      if (width(k) != 1 || builder_.placement(k).workers.front() != worker) continue;
      if (stall(k) + remaining(task(k), 1) * slow > limit) return false;
    }
    return true;
  }

  const SchedulerState& at_;
  const PlanTarget& target_;
  const ElasticOptions& options_;
  DecisionBuilder builder_;
  std::vector<bool> has_moved_;
  double left_ = 0;
  std::int64_t widest_ = 1;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> needs_;
};

Decision DeadlinePolicy::decide(const SchedulerState& state) const {
  return DeadlineDecision(state, target_, options_).decide();
}

}  // namespace

std::unique_ptr<Policy> deadline_policy(const PlanTarget& target, const ElasticOptions& options) {
  return std::make_unique<DeadlinePolicy>(target, options);
}

}  // namespace lanista::plan
