#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace lanista::search {

/// Rules by which a result at a rung is promoted. `n` is the number of results so far, the new one included.
enum class RungRule {
  kCount,  ///< Fewer than max(1, floor(n / eta)) results are better (Optuna).
  /// No worse than the interpolated value that the best 1/eta of the other results reach (Ray). The first result is
  /// promoted.
  kRay,
  /// At most n / eta results are better, so the best floor(n / eta) + 1 results are promoted (Syne Tune).
  kSyneTune,
};

/// The results that trials had at one epoch, and the decision which of them are promoted.
///
/// A decision is made when a result is added, from the results so far, and does not depend on their order. A result
/// with NaN is promoted only if it is the first one. A result that satisfies the constraints is better than one that
/// violates them; among the latter the smaller violation is better.
///
/// Several goals are compared by fronts (Deb et al., 2002). The front that does not fit as a whole is thinned by an
/// epsilon-net: from the lowest first goal on, the point that is furthest from those selected (Schmucker et al., 2021,
/// multi-objective ASHA). The first front is always promoted as a whole, because it is what the study is asked for.
class Rung {
 public:
  /// A rung without results.
  explicit Rung(RungRule rule = RungRule::kCount) : rule_(rule) {}
  /// Adds a result and returns true if it is promoted. `losses` has one loss for each goal; smaller is better.
  /// `violation` is 0 if the constraints are satisfied. `eta` is at least 1. With several goals every rule acts as
  /// kCount. O(log n) for one goal, at most O(n^2) comparisons for several.
  bool add(std::vector<double> losses, double violation, std::int64_t eta);
  /// Returns the number of results so far, those with NaN included.
  std::int64_t num_results() const { return count_; }

 private:
  struct Result {
    std::vector<double> losses;
    double violation = 0;
  };
  using Key = std::pair<double, double>;  ///< Violation, loss.

  bool is_among_best(const Key& key, std::int64_t num_best);
  bool above_quantile(const Key& key, std::int64_t eta);
  void make_best(std::int64_t num_best);
  std::size_t enter(Result result);
  bool is_in_epsilon_net(const Result& result, std::size_t front, std::int64_t places) const;
  static bool is_better(const Result& a, const Result& b);

  RungRule rule_;
  std::int64_t count_ = 0;
  std::multiset<Key> best_, rest_;           ///< One goal: the best results, and the others.
  std::vector<std::vector<Result>> fronts_;  ///< Several goals.
};

/// Returns the indices of `places` of the points, which are sorted lexicographically: the first one, and then each time
/// the point that is furthest from those selected. Coordinates are divided by their range. Needs at least one point. An
/// index may occur twice once all other points equal selected ones. Coordinates without a finite range above 0 do not
/// count.
std::vector<std::size_t> epsilon_net(const std::vector<std::vector<double>>& points, std::int64_t places);

}  // namespace lanista::search
