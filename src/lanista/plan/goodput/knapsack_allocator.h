#pragma once

#include <memory>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::goodput {

/// What an exact allocation maximises.
enum class Goal {
  kHarmonic,  ///< The harmonic mean of speed-ups over a fair share, as Pollux.
  kFinish,    ///< The rate at which jobs finish, by their estimated sizes.
};

/// How the size of a job is estimated.
enum class SizeGuess {
  kAttained,  ///< It needs as many samples again as it has trained, which fits heavy-tailed sizes.
  /// It needs as many samples as the mean of finished jobs of its kind. Above that mean, or while none has finished, it
  /// needs twice the samples of the furthest job of its kind.
  kKind,
  kBudget,  ///< It reveals its remaining work (JobView::left).
};

/// Settings of the knapsack allocator.
struct KnapsackOptions {
  Goal goal = Goal::kHarmonic;             ///< What is maximised.
  SizeGuess guess = SizeGuess::kAttained;  ///< How sizes are estimated.
  double new_job_device_seconds = 60;      ///< kFinish: least remaining time of a job of unknown size, on one device.
  /// kFinish: power of a job's rate, from near 0 (fair) to 1 (most jobs finished).
  double power = 0.5;
  double horizon = 240;  ///< kFinish: seconds within which a change of devices must gain more than it costs.
};

/// Returns the allocator that finds the best allocation over packable device counts.
///
/// Each job has a power of two of a node's devices, or whole nodes. A knapsack over the counts is solved exactly, and
/// the result is packed. O(jobs x devices x choices).
std::unique_ptr<Allocator> knapsack_allocator(const KnapsackOptions& options = {});

}  // namespace lanista::goodput
