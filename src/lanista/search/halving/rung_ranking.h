#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "lanista/base/id.h"

namespace lanista::strategy {

/// The results of one rung in the order in which trials go on from it: what keeps to the constraints first, then the
/// smaller violation, then the goal, then whoever was proposed first. Several goals are compared by fronts, and a front
/// that does not fit is thinned by an epsilon-net (Schmucker et al., 2021, multi-objective ASHA).
class RungRanking {
 public:
  /// `losses`: one a goal, always of the same goals, smaller is better. A result with what is no number is seen, and
  /// never among the best: nobody wants to see more of it. O(log n).
  void add(TrialId trial, std::vector<double> losses, double violation);
  std::int64_t num_results() const { return count_; }
  /// The best so many, if there are as many with numbers. O(places) for one goal, O(n^2) for several.
  std::vector<TrialId> best(std::int64_t places) const;

 private:
  struct Result {
    double violation = 0;
    std::vector<double> losses;
    TrialId trial;
    auto operator<=>(const Result&) const = default;
  };

  static void take_front(const std::vector<const Result*>& front, std::size_t room, std::vector<TrialId>& out);

  std::int64_t count_ = 0;
  std::set<Result> results_;
};

}  // namespace lanista::strategy
