#pragma once

#include <cstdint>

#include "lanista/schedule/cluster.h"

namespace lanista::schedule {

inline Cluster cluster_of(std::int64_t workers, std::int64_t shares = 4, std::int64_t widest = 4) {
  Cluster cluster;
  cluster.workers = workers;
  cluster.shares = shares;
  cluster.widest = widest;
  return cluster;
}

}  // namespace lanista::schedule
