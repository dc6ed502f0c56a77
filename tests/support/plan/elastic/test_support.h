#pragma once

#include <cstdint>

#include "lanista/plan/elastic/cluster.h"
#include "lanista/plan/elastic/simulate.h"

namespace lanista::plan {

/// Returns a cluster with default memory and interference.
inline Cluster cluster_of(std::int64_t workers, std::int64_t shares = 4, std::int64_t widest = 4) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.shares = shares;
  cluster.widest = widest;
  return cluster;
}

/// Returns a trial with a true prediction.
inline Arrival arrival(std::int64_t id, const Prediction& trial) { return {id, trial, trial, {}}; }

}  // namespace lanista::plan
