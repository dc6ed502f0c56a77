#include "lanista/schedule/elastic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/schedule/baselines.h"
#include "lanista/schedule/board.h"
#include "lanista/schedule/bounds.h"
#include "lanista/schedule/fluid.h"
#include "lanista/schedule/simulate.h"

namespace lanista::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Towards : public Policy {
 public:
  Towards(const Aim& aim, const ElasticOptions& options) : aim_(aim), options_(options) {}
  std::string_view name() const override { return "towards"; }
  Decision decide(const Situation& situation) const override;

 private:
  Aim aim_;
  ElasticOptions options_;
};

/// One decision of `towards`.
class Step {
 public:
  Step(const Situation& situation, const Aim& aim, const ElasticOptions& options)
      : at_(situation), aim_(aim), options_(options), board_(situation), moved_(situation.tasks.size()) {
    left_ = std::max(0.0, aim.deadline - situation.now);
    widest_ = std::min(situation.cluster.widest, situation.num_alive());
    order_ = longest_first(situation);
    if (aim.in_order) std::ranges::sort(order_);
    if (aim.by_work) {
      const auto work = [&](std::size_t i) { return -remaining(task(i), 1) * task(i).expected.busy; };
      std::ranges::stable_sort(order_, {}, work);
    }
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) needs_.push_back(need(i));
  }

  Decision decide() && {
    double wanted = 0;
    for (const std::size_t i : order_) wanted += board_.place(i).waits() ? static_cast<double>(needs_[i]) : 0;
    if (wanted > static_cast<double>(board_.num_free())) give_back(wanted);
    for (const std::size_t i : order_) {
      if (!board_.place(i).waits()) {
        if (ends_in(i) > left_) hurry(i);
        continue;
      }
      start(i, wanted);
      wanted -= static_cast<double>(needs_[i]);
    }
    if (std::ranges::none_of(order_, [&](std::size_t i) { return board_.place(i).waits(); })) spend();
    board_.deal_parts();
    return std::move(board_).decision(aim_);
  }

 private:
  const Task& task(std::size_t i) const { return at_.tasks[i]; }
  std::int64_t width(std::size_t i) const { return static_cast<std::int64_t>(board_.place(i).workers.size()); }
  bool shares(std::size_t i) const { return width(i) == 1 && board_.load(board_.place(i).workers.front()).count > 1; }

  /// What moving it costs now; nothing if it has not begun, or has been moved already.
  double cost(std::size_t i) const { return task(i).begun && !moved_[i] ? task(i).expected.resize : 0; }
  bool is_settled(std::size_t i) const {
    return task(i).begun && !task(i).place.waits() &&
           at_.now < task(i).changed_at + options_.cool_down * task(i).expected.resize;
  }
  double stall(std::size_t i) const {
    return moved_[i] ? cost_paid(i) : std::max(0.0, task(i).stalled_until - at_.now);
  }
  double cost_paid(std::size_t i) const { return task(i).begun ? task(i).expected.resize : 0; }

  /// Seconds until it ends where it is, if its company stays.
  double ends_in(std::size_t i) const {
    if (width(i) != 1) return stall(i) + remaining(task(i), width(i));
    const Load& load = board_.load(board_.place(i).workers.front());
    return stall(i) + remaining(task(i), 1) * (load.count > 1 ? slowdown(load.busy, load.count, at_.cluster) : 1);
  }

  /// The fewest workers with which it ends in time; where none do, those with which it ends first.
  std::int64_t need(std::size_t i) const {
    const std::int64_t has = static_cast<std::int64_t>(task(i).place.workers.size());
    for (std::int64_t w = 1; w <= widest_; ++w) {
      const double change = task(i).begun && w != has ? task(i).expected.resize : 0;
      if (change + remaining(task(i), w) <= left_) return w;
    }
    return fastest_width(task(i).expected, widest_);
  }

  /// Trials that have more than they need give workers back: Fluid's scale-down, to the new width.
  void give_back(double wanted) {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const std::size_t i = *it;
      if (static_cast<double>(board_.num_free()) >= wanted) return;
      if (width(i) <= needs_[i] || is_settled(i)) continue;
      if (cost(i) + remaining(task(i), needs_[i]) > left_) continue;
      if (!resizes(task(i).expected, task(i).left, {width(i), 1}, {needs_[i], 1}, at_.cluster)) continue;
      board_.resize(i, needs_[i]);
      moved_[i] = true;
    }
  }

  /// Whether `after` seconds at a new place are sooner than `before` where it is, by the least gain. One that has begun
  /// must gain even if it is as short, and its move as dear, as the error of its prediction allows.
  bool pays(std::size_t i, double before, double after) const {
    const Prediction& trial = task(i).expected;
    if (!task(i).begun) return after < before * (1 - options_.least_gain);
    const double shorter = 1 / (1 + trial.error), dearer = 1 / std::max(1e-3, 1 - trial.error);
    return dearer * trial.resize + shorter * after < shorter * before * (1 - options_.least_gain);
  }

  void start(std::size_t i, double wanted) {
    const double free = static_cast<double>(board_.num_free());
    if (needs_[i] > 1 || free >= wanted) {
      if (board_.num_free() > 0) {
        board_.put_whole(i, std::min(needs_[i], board_.num_free()));
        moved_[i] = true;
      }
      return;
    }
    std::int32_t best = -1;
    for (std::int32_t worker = 0; worker < board_.num_workers(); ++worker) {
      if (!may_share(i, worker)) continue;
      const bool busier = best >= 0 && board_.load(worker).busy > board_.load(best).busy;
      if (best < 0 || busier != aim_.spreads) best = worker;
    }
    if (best >= 0) {
      board_.join(i, best);
      moved_[i] = true;
    } else if (board_.num_free() > 0) {
      board_.put_whole(i, 1);
      moved_[i] = true;
    }
  }

  /// Whether it may join those who have the worker: busier, as the aim allows, and nobody late.
  bool may_share(std::size_t i, std::int32_t worker) const {
    const Load& load = board_.load(worker);
    if (load.count == 0 || load.count >= aim_.most || load.busy + task(i).expected.busy > aim_.fill) return false;
    if (!board_.may_join(i, worker)) return false;
    const double before = load.count > 1 ? slowdown(load.busy, load.count, at_.cluster) : 1;
    const double after = slowdown(load.busy + task(i).expected.busy, load.count + 1, at_.cluster);
    // Sharing pays if together they do more than one after the other.
    const double gain =
        std::min(1.0, load.busy + task(i).expected.busy) / (after / std::max(1.0, load.busy + task(i).expected.busy)) -
        std::min(1.0, load.busy) / (before / std::max(1.0, load.busy));
    if (gain <= options_.least_gain) return false;
    if (cost(i) + remaining(task(i), 1) * after > left_) return false;
    for (std::size_t k = 0; k < at_.tasks.size(); ++k) {
      if (k == i || width(k) != 1 || board_.place(k).workers.front() != worker) continue;
      if (stall(k) + remaining(task(k), 1) * after > left_) return false;
    }
    return true;
  }

  /// A trial that would be late gets what is free.
  void hurry(std::size_t i) { improve(i, needs_[i]); }

  /// Workers to spare go to whoever would end last; whoever shares may also move to a worker with less to do.
  void spend() {
    std::vector<bool> tried(at_.tasks.size());
    while (true) {
      std::size_t last = at_.tasks.size();
      for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
        if (!tried[i] && (last == at_.tasks.size() || ends_in(i) > ends_in(last))) last = i;
      }
      if (last == at_.tasks.size()) return;
      if (!improve(last, widest_)) tried[last] = true;
    }
  }

  /// Gives it one step more than it has, up to `most` workers, if that pays: a better worker, or a further one.
  bool improve(std::size_t i, std::int64_t most) {
    const double now = ends_in(i);
    if (shares(i)) return !is_settled(i) && leave(i, now * (1 - options_.least_gain));
    if (width(i) >= most || board_.num_free() == 0 || is_settled(i)) return false;
    std::int64_t best = width(i);
    for (std::int64_t w = width(i) + 1; w <= std::min(most, width(i) + board_.num_free()); ++w) {
      if (pays(i, now, remaining(task(i), w))) {
        best = w;
        break;
      }
    }
    if (best == width(i)) return false;
    board_.resize(i, best);
    moved_[i] = true;
    return true;
  }

  /// Moves one that shares to where it ends first, if that is within `limit`: a worker of its own, or one whose trials
  /// still end within that limit with it.
  bool leave(std::size_t i, double limit) {
    const std::int32_t from = board_.place(i).workers.front();
    std::int32_t best = -1;
    for (std::int32_t worker = 0; worker < board_.num_workers(); ++worker) {
      if (worker == from || !board_.may_join(i, worker)) continue;
      const Load& load = board_.load(worker);
      const double slow = load.count > 0 ? slowdown(load.busy + task(i).expected.busy, load.count + 1, at_.cluster) : 1;
      const double then = cost_paid(i) + remaining(task(i), 1) * slow;
      if (then >= limit || !leaves_time(worker, slow, limit) || !pays(i, ends_in(i), then - cost_paid(i))) continue;
      best = worker;
      limit = then;
    }
    if (best < 0) return false;
    board_.lift(i);
    board_.join(i, best);
    moved_[i] = true;
    return true;
  }

  /// Whether all trials of a worker would end within `limit` if they were so much slower.
  bool leaves_time(std::int32_t worker, double slow, double limit) const {
    for (std::size_t k = 0; k < at_.tasks.size(); ++k) {
      if (width(k) != 1 || board_.place(k).workers.front() != worker) continue;
      if (stall(k) + remaining(task(k), 1) * slow > limit) return false;
    }
    return true;
  }

  const Situation& at_;
  const Aim& aim_;
  const ElasticOptions& options_;
  Board board_;
  std::vector<bool> moved_;
  double left_ = 0;
  std::int64_t widest_ = 1;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> needs_;
};

Decision Towards::decide(const Situation& situation) const { return Step(situation, aim_, options_).decide(); }

class Elastic : public Policy {
 public:
  explicit Elastic(const ElasticOptions& options) : options_(options) {}
  std::string_view name() const override { return "ours"; }

  Decision decide(const Situation& situation) const override {
    const double now = situation.now;
    const bool unsure = std::ranges::any_of(situation.tasks, [](const Task& task) { return task.expected.error > 0; });
    std::vector<Aim> tried;
    double soonest = kNever;
    if (situation.aim.deadline > now) {
      Aim present = situation.aim;
      present.end = predicted_end(situation, Towards(present, options_));
      const bool as_predicted = std::abs(present.end - situation.aim.end) <= kSlack * (situation.aim.end - now);
      if (as_predicted && situation.tasks.size() > kFew) return Towards(situation.aim, options_).decide(situation);
      soonest = cautious(present, now) - kSlack * (present.end - now);
      tried.push_back(present);
    }
    std::size_t best = 0;
    const auto look = [&](Aim aim) {
      // Where predictions may be wrong the second best may be better.
      const double limit = now + (unsure ? kNearly : 1.0) * (soonest - now) / (1 + caution(aim));
      aim.end = predicted_end(situation, Towards(aim, options_), limit);
      if (aim.end == kNever) return kNever;
      tried.push_back(aim);
      if (cautious(aim, now) < soonest) soonest = cautious(aim, now), best = tried.size() - 1;
      return cautious(aim, now);
    };
    // All ways at some deadlines, then the best ways at all.
    const std::vector<double> deadlines = deadlines_of(situation);
    const std::size_t some = std::min<std::size_t>(2, deadlines.size());
    std::vector<std::pair<double, Aim>> ways;
    for (Aim way : ways_of(situation)) {
      double end = kNever;
      for (std::size_t k = 0; k < some; ++k) {
        way.deadline = deadlines[k];
        end = std::min(end, look(way));
      }
      if (end < kNever) ways.emplace_back(end, way);
    }
    std::ranges::stable_sort(ways, {}, &std::pair<double, Aim>::first);
    if (ways.size() > kWays) ways.resize(kWays);
    for (auto& [end, way] : ways) {
      for (std::size_t k = some; k < deadlines.size(); ++k) {
        way.deadline = deadlines[k];
        look(way);
      }
    }
    const Aim chosen = unsure ? safest(situation, std::move(tried)) : tried[best];
    return Towards(chosen, options_).decide(situation);
  }

 private:
  static constexpr double kSlack = 0.01;
  static constexpr std::size_t kFew = 64;
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kCandidates = 4;
  static constexpr std::size_t kCases = 8;
  static constexpr double kEvened = 0.8;  // of the largest error
  static constexpr double kSure = 3;  // standard deviations
  static constexpr double kNearly = 1.2;
  static constexpr std::size_t kMany = 200;  // then a lookahead takes long, and one aim is about as good as another

  double caution(const Aim& aim) const { return aim.in_order && aim.most == 1 ? 0 : options_.caution; }
  double cautious(const Aim& aim, double now) const { return aim.end + caution(aim) * (aim.end - now); }

  /// Of the aims with the earliest ends, and of first come, the one to follow where predictions may be wrong. The first
  /// is the one in force, if there is one.
  Aim safest(const Situation& situation, std::vector<Aim> tried) const {
    const double now = situation.now;
    const bool has_present = !tried.empty() && situation.aim.deadline > now;
    std::ranges::stable_sort(tried.begin() + (has_present ? 1 : 0), tried.end(), {},
                             [&](const Aim& aim) { return cautious(aim, now); });
    // Equal ends are the same course.
    const auto same = std::ranges::unique(tried, {}, &Aim::end);
    tried.erase(same.begin(), same.end());
    if (tried.size() > kCandidates) tried.resize(kCandidates);
    // Whatever is so, this is no later than first come: trials begin as early, and a move pays for itself.
    tried.insert(tried.begin(), {.deadline = kNever, .in_order = true});
    tried.front().end = predicted_end(situation, Towards(tried.front(), options_));
    const auto first_come_first = first_come();
    std::vector<std::vector<Prediction>> cases;
    std::vector<double> of_first;
    for (std::uint64_t k = 0; k < kCases; ++k) {
      cases.push_back(k == 0 ? evened(situation) : case_of(situation, k));
      of_first.push_back(end_if(cases.back(), situation, *first_come_first) - now);
    }
    Aim best = tried.front();
    double least = kNever;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      double sum = 0, squares = 0;
      for (std::size_t k = 0; k < kCases && sum < kNever; ++k) {
        const double limit = i == 0 ? kNever : now + of_first[k] * (1 + 1e-9);
        const double ratio = (end_if(cases[k], situation, Towards(tried[i], options_), limit) - now) / of_first[k];
        sum += ratio, squares += ratio * ratio;
      }
      const double mean = sum / static_cast<double>(kCases);
      if (!(mean < least)) continue;
      const double spread = std::sqrt(std::max(0.0, squares / static_cast<double>(kCases) - mean * mean));
      if (i > 0 && mean + kSure * spread > 1) continue;
      best = tried[i];
      least = mean - (has_present && i == 1 ? kSlack : 0);
    }
    return best;
  }

  /// The case that is hardest on plans: who seems to be long has been overestimated, who seems to be short
  /// underestimated. That is also what errors do to an order by length.
  static std::vector<Prediction> evened(const Situation& situation) {
    std::vector<Prediction> all;
    for (const Task& task : situation.tasks) all.push_back(task.expected);
    const std::vector<std::size_t> order = longest_first(situation);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const double place = order.size() < 2 ? 0 : 1 - 2 * static_cast<double>(k) / static_cast<double>(order.size() - 1);
      Prediction& trial = all[order[k]];
      trial.steps /= 1 + kEvened * trial.error * place;
    }
    return all;
  }

  /// What may be so of each trial: the same whenever it is asked for, and two cases lie on two sides of the prediction.
  static std::vector<Prediction> case_of(const Situation& situation, std::uint64_t k) {
    std::vector<Prediction> all;
    for (const Task& task : situation.tasks) {
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

  /// Seconds by which all may have ended, those first that suit most situations.
  static std::vector<double> deadlines_of(const Situation& situation) {
    std::vector<Prediction> rest;
    std::vector<double> seconds;
    for (const Task& task : situation.tasks) {
      rest.push_back(task.expected);
      rest.back().steps *= task.left;
      seconds.push_back(remaining(task, 1));
    }
    Cluster there = situation.cluster;
    there.workers = std::max<std::int64_t>(1, situation.num_alive());
    const double least = bounds_of(rest, there).best();
    std::vector<double> all;
    for (const double factor : {1.04, 1.6, 1.0, 1.1, 1.25, 2.5}) {
      if (seconds.size() <= kMany || all.size() < 2) all.push_back(situation.now + factor * least);
    }
    if (const auto level = water_level(seconds, there)) all.push_back(situation.now + *level);
    return all;
  }

  /// Aims without a deadline.
  static std::vector<Aim> ways_of(const Situation& situation) {
    std::vector<Aim> all{{.most = 1, .in_order = true}, {.most = 1}};
    // Who shares is settled when trials begin; where all have, only the deadline is left to choose.
    const std::int64_t most = situation.cluster.shares;
    if (most == 1 || std::ranges::none_of(situation.tasks, [](const Task& task) { return task.place.waits(); })) {
      return all;
    }
    all.push_back({.fill = 1.0, .most = most});
    for (const double fill : {1.15, 1.4, 2.0}) {
      for (const bool spreads : {false, true}) {
        all.push_back({.fill = fill, .most = most, .spreads = spreads});
        all.push_back({.fill = fill, .most = most, .spreads = spreads, .by_work = true});
      }
    }
    return all;
  }

  ElasticOptions options_;
};

}  // namespace

std::unique_ptr<Policy> towards(const Aim& aim, const ElasticOptions& options) {
  return std::make_unique<Towards>(aim, options);
}
std::unique_ptr<Policy> elastic(const ElasticOptions& options) { return std::make_unique<Elastic>(options); }

}  // namespace lanista::schedule
