#pragma once

#include <memory>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::cluster {

/// What an exact allocation makes large.
enum class Goal {
  kHarmonic,  ///< the harmonic mean of speed-ups over a fair share: Pollux's own
  kFinish,    ///< the rate at which jobs are finished, as far as their sizes can be guessed
};

/// How large a job is guessed to be.
enum class SizeGuess {
  kAttained,  ///< as much again as it has done: where sizes are heavy-tailed, who has run long will run long
  kKind,      ///< as finished jobs of its kind were; while there are none, twice what the furthest of its kind has done
  kBudget,    ///< it says itself what is left (JobView::left)
};

struct KnapsackOptions {
  Goal goal = Goal::kHarmonic;
  SizeGuess guess = SizeGuess::kAttained;
  double new_job_device_seconds =
      60;  ///< kFinish: device-seconds that a job is guessed to need at least if nothing is known of its kind
  double power = 0.5;    ///< kFinish: of a job's rate, from small (fair) to 1 (the most finished soonest)
  double horizon = 240;  ///< kFinish: seconds over which a change of devices must pay
};

/// The allocation that is best among all where every job has a power of two of a node's devices or whole nodes: a
/// knapsack over device counts, packed afterwards. Takes O(jobs x devices x choices).
std::unique_ptr<Allocator> knapsack_allocator(const KnapsackOptions& options = {});

}  // namespace lanista::cluster
