#include "lanista/plan/elastic/elastic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/elastic/board.h"
#include "lanista/plan/elastic/fluid.h"

namespace lanista::schedule {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

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
    if (aim.in_order) {
      std::ranges::sort(order_);
    } else if (aim.by_work || aim.drawn != 0) {
      std::vector<double> size;
      for (std::size_t i = 0; i < at_.tasks.size(); ++i) {
        const double said = remaining(task(i), 1) * (aim.by_work ? task(i).expected.busy : 1);
        size.push_back(aim.drawn == 0 ? said : said * drawn_factor(i));
      }
      std::ranges::stable_sort(order_, std::greater(), [&](std::size_t i) { return size[i]; });
    }
    for (std::size_t i = 0; i < at_.tasks.size(); ++i) needs_.push_back(need(i));
  }

  Decision decide() && {
    double wanted = 0;
    for (const std::size_t i : order_) wanted += board_.place(i).waits() ? static_cast<double>(needs_[i]) : 0;
    // Without a deadline nobody has more than it needs.
    if (left_ < kNoLimit && wanted > static_cast<double>(board_.num_free())) give_back(wanted);
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

  double drawn_factor(std::size_t i) const {
    constexpr double kWide = 0.3;
    return 1 + kWide * Rng(aim_.drawn).split(static_cast<std::uint64_t>(task(i).id)).uniform(-1, 1);
  }

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

  std::int64_t widest(std::size_t i) const { return std::min(widest_, widest_of(task(i), at_.cluster)); }

  /// The fewest workers with which it ends in time; where none do, those with which it ends first.
  std::int64_t need(std::size_t i) const {
    const std::int64_t has = static_cast<std::int64_t>(task(i).place.workers.size());
    for (std::int64_t w = 1; w <= widest(i); ++w) {
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
      if (!improve(last, widest(last))) tried[last] = true;
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

}  // namespace

std::unique_ptr<Policy> towards(const Aim& aim, const ElasticOptions& options) {
  return std::make_unique<Towards>(aim, options);
}

}  // namespace lanista::schedule
