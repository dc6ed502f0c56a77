#pragma once

#include <memory>

#include "lanista/plan/goodput/allocation.h"

namespace lanista::cluster {

struct GeneticOptions {
  std::int32_t population = 100;
  std::int32_t generations = 100;
  std::uint64_t seed = 0;
  std::int32_t widest = 16;  ///< nodes of one job, at most
};

/// Pollux's search (OSDI'21, section 4.2, and its artefact): matrices of devices by job and node, crossed over at a
/// job, mutated, repaired, the best by the harmonic mean of speed-ups over a fair share; changed rows count less by
/// restart_factor. A plain elitist choice in place of the artefact's NSGA-II, whose second goal decides nothing. The
/// last population is where the next search begins. O(population x generations x jobs x nodes) a decision.
std::unique_ptr<Allocator> genetic(const GeneticOptions& options = {});

}  // namespace lanista::cluster
