#pragma once

#include <memory>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::goodput {

/// Settings of the genetic search.
struct GeneticOptions {
  std::int32_t population = 100;   ///< Number of candidates.
  std::int32_t generations = 100;  ///< Number of generations of one decision.
  std::uint64_t seed = 0;          ///< Seed of the random numbers.
  std::int32_t widest = 16;        ///< Largest number of nodes of one job.
};

/// Returns the allocator that runs Pollux's genetic search (OSDI'21, section 4.2, and its artefact).
///
/// A candidate is a matrix of devices by job and node. Candidates are crossed over at a job, mutated and repaired. The
/// best has the largest harmonic mean of speed-ups over a fair share, with restart_factor for changed jobs. Selection
/// is elitist instead of NSGA-II, since the artefact's second goal decides nothing. The next search starts from the
/// last population. O(population x generations x jobs x nodes) for a decision.
std::unique_ptr<Allocator> genetic(const GeneticOptions& options = {});

}  // namespace lanista::goodput
