#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "lanista/base/id.h"

namespace lanista::search {

/// The results of one rung in the order of promotion.
///
/// Results that satisfy the constraints come first, then those with a smaller violation. Then the goal decides, and
/// then the lower trial number. Several goals are compared by fronts. A front that does not fit is thinned by an
/// epsilon-net (Schmucker et al., 2021, multi-objective ASHA).
class RungRanking {
 public:
  /// Adds a result. `losses` has one loss for each goal; smaller is better. A result with a NaN loss counts as a
  /// result, but is never among the best. `violation` is not NaN; 0: the constraints are satisfied. O(log n).
  void add(TrialId trial, std::vector<double> losses, double violation);
  /// Returns the number of results, those with NaN included.
  std::int64_t num_results() const { return count_; }
  /// Returns the best `places` trials in the order of promotion, or all without NaN if these are fewer. O(places) for
  /// one goal, O(n^2) for several.
  std::vector<TrialId> best(std::int64_t places) const;

 private:
  struct Result {
    double violation = 0;
    std::vector<double> losses;
    TrialId trial;
    auto operator<=>(const Result&) const = default;
  };

  static void take_front(const std::vector<const Result*>& front, std::size_t places, std::vector<TrialId>& out);

  std::int64_t count_ = 0;
  std::set<Result> results_;
};

}  // namespace lanista::search
