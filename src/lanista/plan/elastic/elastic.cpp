#include "lanista/plan/elastic/elastic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/elastic/bounds.h"
#include "lanista/plan/elastic/decision_builder.h"
#include "lanista/plan/elastic/first_come.h"
#include "lanista/plan/elastic/fluid.h"
#include "lanista/plan/elastic/simulate.h"

namespace lanista::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Elastic : public Policy {
 public:
  explicit Elastic(const ElasticOptions& options) : options_(options) {}
  std::string_view name() const override { return "ours"; }

  Decision decide(const SchedulerState& given) const override {
    const SchedulerState state = with_observed_pace(given);
    PlanTarget chosen = state.target;
    double end = kNever;
    if (has_plan(state)) {
      end = end_of(chosen, state);
      const bool as_predicted = std::abs(end - state.target.end) <= kSlack * (state.target.end - state.now);
      if (as_predicted && state.tasks.size() > kMaxTasksToReplan)
        return deadline_policy(chosen, options_)->decide(state);
      chosen.end = end;
    }
    std::vector<PlanTarget> tried = candidate_targets(state, chosen);
    const bool unsure = std::ranges::any_of(state.tasks, [](const Task& task) { return task.expected.error > 0; });
    if (unsure) {
      if (has_plan(state)) tried.insert(tried.begin(), chosen);
      chosen = safest_target(state, std::move(tried));
    } else if (!tried.empty()) {
      chosen = tried.front();
    }
    return deadline_policy(chosen, options_)->decide(state);
  }

 private:
  static constexpr double kSlack = 0.01;
  static constexpr std::size_t kMaxTasksToReplan = 64;
  /// With more tasks a lookahead is slow, and targets hardly differ.
  static constexpr std::size_t kMaxTasksForLookahead = 200;
  static constexpr std::size_t kNumOrders = 4;          ///< Orders that are tried with all deadlines.
  static constexpr std::size_t kNumSampledTargets = 2;  ///< Targets that are tried with random orders.
  static constexpr std::uint64_t kSampledOrders = 12;   ///< Random orders of each such target.
  // The following are for predictions with an error.
  static constexpr std::size_t kCandidates = 4;      ///< Targets that are simulated in all cases.
  static constexpr std::size_t kNumErrorCases = 16;  ///< Cases of true times.
  static constexpr double kNearBestFactor = 1.2;     ///< Latest end of a candidate relative to the best one.
  static constexpr double kEvened = 0.8;             ///< Part of the largest error in the case of equal lengths.
  static constexpr double kSureDeviations = 4;       ///< Standard deviations by which a new target must gain.

  static bool has_plan(const SchedulerState& state) { return state.target.deadline > state.now; }
  double caution(const PlanTarget& target) const {
    return target.keeps_arrival_order && target.most == 1 ? 0 : options_.caution;
  }
  double cautious_end(const PlanTarget& target, double now) const {
    return target.end + caution(target) * (target.end - now);
  }
  double end_of(const PlanTarget& target, const SchedulerState& state, double limit = kNever) const {
    return predicted_end(state, *deadline_policy(target, options_), limit);
  }

  /// Returns the targets that are better than the present one, best first. With an error of predictions, targets that
  /// are nearly as good are returned too.
  std::vector<PlanTarget> candidate_targets(const SchedulerState& state, const PlanTarget& present) const {
    const double now = state.now;
    const bool unsure = std::ranges::any_of(state.tasks, [](const Task& task) { return task.expected.error > 0; });
    std::vector<PlanTarget> tried;
    double soonest = has_plan(state) ? cautious_end(present, now) - kSlack * (present.end - now) : kNever;
    const auto look = [&](PlanTarget target) {
      const double limit = now + (unsure ? kNearBestFactor : 1.0) * (soonest - now) / (1 + caution(target));
      target.end = end_of(target, state, limit);
      if (target.end < kNever && (unsure || cautious_end(target, now) < soonest)) tried.push_back(target);
      soonest = std::min(soonest, cautious_end(target, now));
      return cautious_end(target, now);
    };
    // All orders are tried with some deadlines, and then the best orders with all deadlines.
    const std::vector<double> deadlines = deadlines_of(state);
    const std::size_t some = std::min<std::size_t>(2, deadlines.size());
    std::vector<std::pair<double, PlanTarget>> order_options;
    for (PlanTarget order_option : orders_of(state)) {
      double end = kNever;
      for (std::size_t k = 0; k < some; ++k) {
        order_option.deadline = deadlines[k];
        end = std::min(end, look(order_option));
      }
      if (end < kNever) order_options.emplace_back(end, order_option);
    }
    std::ranges::stable_sort(order_options, {}, &std::pair<double, PlanTarget>::first);
    if (order_options.size() > kNumOrders) order_options.resize(kNumOrders);
    for (auto& [end, order_option] : order_options) {
      for (std::size_t k = some; k < deadlines.size(); ++k) {
        order_option.deadline = deadlines[k];
        look(order_option);
      }
    }
    const auto sort_tried = [&] {
      std::ranges::stable_sort(tried, {}, [&](const PlanTarget& target) { return cautious_end(target, now); });
    };
    sort_tried();
    if (!unsure) {
      for (PlanTarget target : targets_to_sample(state, tried, present)) {
        for (target.order_seed = 1; target.order_seed <= kSampledOrders; ++target.order_seed) look(target);
      }
      sort_tried();
    }
    return tried;
  }

  /// Returns the best targets if a random order changes their schedule. With many waiting trials it is a matter of
  /// chance whether the last ones fill the workers, so some random orders are tried. With few, the lookahead has tried
  /// the orders that matter. If widths may change, the last trials widen instead.
  static std::vector<PlanTarget> targets_to_sample(const SchedulerState& state, std::vector<PlanTarget> best,
                                                   const PlanTarget& present) {
    if (state.cluster.widest > 1) return {};
    const auto waiting = std::ranges::count_if(state.tasks, [](const Task& task) { return task.placement.waits(); });
    if (waiting < state.num_alive()) return {};
    if (best.empty() && has_plan(state)) best.push_back(present);
    std::erase_if(best, [](const PlanTarget& target) { return target.keeps_arrival_order; });
    if (best.size() > kNumSampledTargets) best.resize(kNumSampledTargets);
    return best;
  }

  /// Returns the target to follow if predictions may be wrong. It includes the target without sharing in the order of
  /// arrival. That one is never later than first_come, since trials start as early and each move pays.
  PlanTarget safest_target(const SchedulerState& state, std::vector<PlanTarget> tried) const {
    const double now = state.now;
    const auto same = std::ranges::unique(tried, {}, &PlanTarget::end);  // Equal ends mean equal schedules.
    tried.erase(same.begin(), same.end());
    if (tried.size() > kCandidates) tried.resize(kCandidates);
    tried.insert(tried.begin(), {.deadline = kNever, .keeps_arrival_order = true});
    tried.front().end = end_of(tried.front(), state);
    const auto first = first_come();
    std::vector<std::vector<Prediction>> cases;
    std::vector<double> of_first;
    for (std::uint64_t k = 0; k < kNumErrorCases; ++k) {
      cases.push_back(k == 0 ? evened_predictions(state) : error_case_of(state, k));
      of_first.push_back(end_if(cases.back(), state, *first) - now);
    }
    PlanTarget best = tried.front();
    double least = kNever;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      // The present target was checked when it began. A plan that is followed half is worse than both.
      const bool was_checked = i == 0 || (i == 1 && has_plan(state));
      double sum = 0, squares = 0;
      for (std::size_t k = 0; k < kNumErrorCases && sum < kNever; ++k) {
        const double limit = was_checked ? kNever : now + of_first[k] * (1 + 1e-9);
        const double ratio = (end_if(cases[k], state, *deadline_policy(tried[i], options_), limit) - now) / of_first[k];
        sum += ratio, squares += ratio * ratio;
      }
      const double mean = sum / static_cast<double>(kNumErrorCases);
      if (!(mean < least)) continue;
      const double spread = std::sqrt(std::max(0.0, squares / static_cast<double>(kNumErrorCases) - mean * mean));
      if (!was_checked && mean + kSureDeviations * spread > 1) continue;
      best = tried[i];
      least = mean - (was_checked ? kSlack : 0);
    }
    return best;
  }

  /// Returns the worst case for plans: long trials are overestimated, and short ones underestimated. An order by
  /// predicted length tends to have such errors.
  static std::vector<Prediction> evened_predictions(const SchedulerState& state) {
    std::vector<Prediction> all;
    for (const Task& task : state.tasks) all.push_back(task.expected);
    const std::vector<std::size_t> order = longest_first(state);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const double placement =
          order.size() < 2 ? 0 : 1 - 2 * static_cast<double>(k) / static_cast<double>(order.size() - 1);
      Prediction& trial = all[order[k]];
      trial.steps /= 1 + kEvened * trial.error * placement;
    }
    return all;
  }

  /// Returns random true times of each trial. It is a pure function of k. Cases 2i and 2i + 1 are on opposite sides of
  /// the prediction.
  static std::vector<Prediction> error_case_of(const SchedulerState& state, std::uint64_t k) {
    std::vector<Prediction> all;
    for (const Task& task : state.tasks) {
      Prediction trial = task.expected;
      if (trial.error > 0) {
        Rng rng = Rng(k / 2).split(static_cast<std::uint64_t>(task.id));
        const double side = k % 2 == 0 ? trial.error : -trial.error;
        trial.steps /= 1 + side * rng.uniform(-1, 1);
        trial.resize /= 1 + side * rng.uniform(-1, 1);
      }
      all.push_back(trial);
    }
    return all;
  }

  /// Returns deadlines to try, those first that are best most often.
  static std::vector<double> deadlines_of(const SchedulerState& state) {
    std::vector<Prediction> rest;
    std::vector<double> seconds;
    for (const Task& task : state.tasks) {
      rest.push_back(task.expected);
      rest.back().steps *= task.left;
      seconds.push_back(remaining(task, 1));
    }
    Cluster there = state.cluster;
    there.workers = std::max<std::int64_t>(1, state.num_alive());
    const double least = bounds_of(rest, there).best();
    std::vector<double> all;
    for (const double factor : {1.04, 1.6, 1.0, 1.1, 1.25, 2.5}) {
      if (seconds.size() <= kMaxTasksForLookahead || all.size() < 2) all.push_back(state.now + factor * least);
    }
    if (const auto level = water_level(seconds, there)) all.push_back(state.now + *level);
    return all;
  }

  /// Returns targets without a deadline, one for each order and rule of sharing.
  static std::vector<PlanTarget> orders_of(const SchedulerState& state) {
    std::vector<PlanTarget> all{{.most = 1, .keeps_arrival_order = true}, {.most = 1}};
    // Sharing is decided when trials start. If all have started, only the deadline is left to choose.
    const std::int64_t most = state.cluster.shares;
    if (most == 1 || std::ranges::none_of(state.tasks, [](const Task& task) { return task.placement.waits(); })) {
      return all;
    }
    all.push_back({.max_busy = 1.0, .most = most});
    for (const double max_busy : {1.15, 1.4, 2.0}) {
      for (const bool prefers_least_busy : {false, true}) {
        all.push_back({.max_busy = max_busy, .most = most, .prefers_least_busy = prefers_least_busy});
        all.push_back(
            {.max_busy = max_busy, .most = most, .prefers_least_busy = prefers_least_busy, .orders_by_work = true});
      }
    }
    return all;
  }

  ElasticOptions options_;
};

}  // namespace

std::unique_ptr<Policy> elastic(const ElasticOptions& options) { return std::make_unique<Elastic>(options); }

}  // namespace lanista::plan
