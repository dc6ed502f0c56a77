#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lanista/engine/engine.h"

namespace lanista::engine {

/// What a finished trial is compared by; smaller is better. Goals count in their order: the next one decides only where
/// those before are equal.
struct Standing {
  std::vector<std::pair<bool, double>> losses;  ///< one a goal; {true, 0} for a missing or not-a-number metric: worst
  std::int64_t parameters = 0;
  TrialId trial;
  auto operator<=>(const Standing&) const = default;
};
Standing standing(const std::vector<study::Goal>& goals, const TrialView& trial);

/// Whether a trial may be ranked: it succeeded or was stopped early, and has measured something.
bool ranks(const TrialView& trial, const study::Outcome& outcome);

/// The best few finished trials, so that no trial costs a look at all others.
class Podium {
 public:
  explicit Podium(std::size_t size) : size_(size) {}
  /// Whether a trial with this standing would be among the best.
  bool admits(const Standing& standing) const;
  /// Puts the trial in its place; gives the trials that are no longer among the best (itself, perhaps).
  std::vector<TrialId> add(const Standing& standing);
  const std::vector<Standing>& best() const { return best_; }

 private:
  std::size_t size_;
  std::vector<Standing> best_;  ///< sorted
};

}  // namespace lanista::engine
