#include "lanista/plan/elastic/elastic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/elastic/baselines.h"
#include "lanista/plan/elastic/board.h"
#include "lanista/plan/elastic/bounds.h"
#include "lanista/plan/elastic/fluid.h"
#include "lanista/plan/elastic/simulate.h"

namespace lanista::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Elastic : public Policy {
 public:
  explicit Elastic(const ElasticOptions& options) : options_(options) {}
  std::string_view name() const override { return "ours"; }

  Decision decide(const Situation& given) const override {
    const Situation situation = as_seen(given);
    Aim chosen = situation.aim;
    double end = kNever;
    if (has_plan(situation)) {
      end = end_of(chosen, situation);
      const bool as_predicted = std::abs(end - situation.aim.end) <= kSlack * (situation.aim.end - situation.now);
      if (as_predicted && situation.tasks.size() > kFew) return towards(chosen, options_)->decide(situation);
      chosen.end = end;
    }
    std::vector<Aim> tried = look_around(situation, chosen);
    const bool unsure = std::ranges::any_of(situation.tasks, [](const Task& task) { return task.expected.error > 0; });
    if (unsure) {
      if (has_plan(situation)) tried.insert(tried.begin(), chosen);
      chosen = safest(situation, std::move(tried));
    } else if (!tried.empty()) {
      chosen = tried.front();
    }
    return towards(chosen, options_)->decide(situation);
  }

 private:
  static constexpr double kSlack = 0.01;
  static constexpr std::size_t kFew = 64;
  static constexpr std::size_t kMany = 200;  // then a lookahead takes long, and one aim is about as good as another
  static constexpr std::size_t kWays = 4;    // that are tried at all deadlines
  static constexpr std::size_t kDrawn = 2;   // aims whose order is drawn,
  static constexpr std::uint64_t kDraws = 12;  // so often each
  // Where predictions may be wrong.
  static constexpr std::size_t kCandidates = 4;
  static constexpr std::size_t kCases = 16;
  static constexpr double kNearly = 1.2;  // times the earliest end: who is looked at once more
  static constexpr double kEvened = 0.8;  // of the largest error
  static constexpr double kSure = 4;      // standard deviations

  static bool has_plan(const Situation& situation) { return situation.aim.deadline > situation.now; }
  double caution(const Aim& aim) const { return aim.in_order && aim.most == 1 ? 0 : options_.caution; }
  double cautious(const Aim& aim, double now) const { return aim.end + caution(aim) * (aim.end - now); }
  double end_of(const Aim& aim, const Situation& situation, double limit = kNever) const {
    return predicted_end(situation, *towards(aim, options_), limit);
  }

  /// The aims that are better than the one in force (where predictions may be wrong: nearly as good), the best first.
  std::vector<Aim> look_around(const Situation& situation, const Aim& present) const {
    const double now = situation.now;
    const bool unsure = std::ranges::any_of(situation.tasks, [](const Task& task) { return task.expected.error > 0; });
    std::vector<Aim> tried;
    double soonest = has_plan(situation) ? cautious(present, now) - kSlack * (present.end - now) : kNever;
    const auto look = [&](Aim aim) {
      const double limit = now + (unsure ? kNearly : 1.0) * (soonest - now) / (1 + caution(aim));
      aim.end = end_of(aim, situation, limit);
      if (aim.end < kNever && (unsure || cautious(aim, now) < soonest)) tried.push_back(aim);
      soonest = std::min(soonest, cautious(aim, now));
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
    const auto sort_tried = [&] {
      std::ranges::stable_sort(tried, {}, [&](const Aim& aim) { return cautious(aim, now); });
    };
    sort_tried();
    if (!unsure) {
      for (Aim aim : worth_drawing(situation, tried, present)) {
        for (aim.drawn = 1; aim.drawn <= kDraws; ++aim.drawn) look(aim);
      }
      sort_tried();
    }
    return tried;
  }

  /// The best aims so far, if an order that is drawn makes another schedule of them. It is a matter of chance which of
  /// many trials are left for the end, and whether they then fill the workers; so a few chances are taken. Of few that
  /// wait the lookahead has seen the orders that matter; where widths may change, the last ones get wider instead.
  static std::vector<Aim> worth_drawing(const Situation& situation, std::vector<Aim> best, const Aim& present) {
    if (situation.cluster.widest > 1) return {};
    const auto waiting = std::ranges::count_if(situation.tasks, [](const Task& task) { return task.place.waits(); });
    if (waiting < situation.num_alive()) return {};
    if (best.empty() && has_plan(situation)) best.push_back(present);
    std::erase_if(best, [](const Aim& aim) { return aim.in_order; });
    if (best.size() > kDrawn) best.resize(kDrawn);
    return best;
  }

  /// Which of some aims to follow where predictions may be wrong, or the one that begins trials in their order and
  /// shares nothing: of trials that are there it ends none later than first come, whatever is so, since they begin as
  /// early and a move pays for itself.
  Aim safest(const Situation& situation, std::vector<Aim> tried) const {
    const double now = situation.now;
    const auto same = std::ranges::unique(tried, {}, &Aim::end);  // equal ends are the same course
    tried.erase(same.begin(), same.end());
    if (tried.size() > kCandidates) tried.resize(kCandidates);
    tried.insert(tried.begin(), {.deadline = kNever, .in_order = true});
    tried.front().end = end_of(tried.front(), situation);
    const auto first = first_come();
    std::vector<std::vector<Prediction>> cases;
    std::vector<double> of_first;
    for (std::uint64_t k = 0; k < kCases; ++k) {
      cases.push_back(k == 0 ? evened(situation) : case_of(situation, k));
      of_first.push_back(end_if(cases.back(), situation, *first) - now);
    }
    Aim best = tried.front();
    double least = kNever;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      // The aim in force has been judged: half a plan is worse than either.
      const bool judged = i == 0 || (i == 1 && has_plan(situation));
      double sum = 0, squares = 0;
      for (std::size_t k = 0; k < kCases && sum < kNever; ++k) {
        const double limit = judged ? kNever : now + of_first[k] * (1 + 1e-9);
        const double ratio = (end_if(cases[k], situation, *towards(tried[i], options_), limit) - now) / of_first[k];
        sum += ratio, squares += ratio * ratio;
      }
      const double mean = sum / static_cast<double>(kCases);
      if (!(mean < least)) continue;
      const double spread = std::sqrt(std::max(0.0, squares / static_cast<double>(kCases) - mean * mean));
      if (!judged && mean + kSure * spread > 1) continue;
      best = tried[i];
      least = mean - (judged ? kSlack : 0);
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
      const double place =
          order.size() < 2 ? 0 : 1 - 2 * static_cast<double>(k) / static_cast<double>(order.size() - 1);
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

std::unique_ptr<Policy> elastic(const ElasticOptions& options) { return std::make_unique<Elastic>(options); }

}  // namespace lanista::schedule
