#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace lanista::strategy {

/// How a result of one number is compared with those that came to its rung before, n in all, its own included.
enum class RungRule {
  kCount,     ///< goes on if fewer than max(1, floor(n / eta)) are better: Optuna's rule
  kRay,       ///< if it is no worse than the 1 - 1/eta quantile of the others, interpolated; if there are any
  kSyneTune,  ///< if at most n / eta are better
};

/// The results that trials had at one epoch, and who goes on from there, by kCount: those that fewer than max(1,
/// floor(n / eta)) of the n seen so far, their own included, are better than. Equal results are equal: who equals the
/// last that goes on goes on too, whoever came first. A result without a number equals none, and goes on only alone.
///
/// What keeps to the constraints is better than what does not, and of the latter the smaller violation. Several goals
/// are compared by fronts (Deb et al., 2002), inside the front that does not fit as a whole by an epsilon-net: from the
/// lowest first goal on, whatever is furthest from those taken (Schmucker et al., 2021, multi-objective ASHA). The
/// first front goes on even where it is larger than the places there are, as the best of one goal does: it is what the
/// study is asked for.
class Rung {
 public:
  explicit Rung(RungRule rule = RungRule::kCount) : rule_(rule) {}
  /// Whether the new result goes on. `losses`: one a goal, always of the same goals, smaller is better; `eta` at least
  /// 1. Rules other than kCount want one goal. O(log n) for one goal, at most O(n^2) comparisons for several.
  bool is_promoted(std::vector<double> losses, double violation, std::int64_t eta);
  std::int64_t num_results() const { return count_; }

 private:
  struct Result {
    std::vector<double> losses;
    double violation = 0;
  };
  using Key = std::pair<double, double>;  ///< violation, loss

  bool is_among_best(const Key& key, std::int64_t room);
  bool above_quantile(const Key& key, std::int64_t eta);
  void make_best(std::int64_t room);
  std::size_t enter(Result result);
  bool is_in_epsilon_net(const Result& result, std::size_t front, std::int64_t places) const;
  static bool is_better(const Result& a, const Result& b);

  RungRule rule_;
  std::int64_t count_ = 0;
  std::multiset<Key> best_, rest_;           ///< of one goal: the best that there is room for, the others
  std::vector<std::vector<Result>> fronts_;  ///< of several
};

/// Of points, sorted, the indices of `places` of them: the first, then again and again whatever is furthest from those
/// taken, each coordinate measured by its range. Needs a point; an index may come twice when all were taken.
std::vector<std::size_t> epsilon_net(const std::vector<std::vector<double>>& points, std::int64_t places);

}  // namespace lanista::strategy
