#pragma once

#include <cstdint>

namespace lanista::step {

/// Of a worker, unless somebody says otherwise: enough to share batches and programs; more only makes others wait for
/// the last of them.
inline constexpr std::int64_t kDefaultLanes = 8;

/// Lanes that pay where each has so many bytes of state: as many as a core's second cache holds beside the activations,
/// so that no lane's weights push out another's from step to step; then lanes are not slower than trials one by one.
/// Between 1 and kDefaultLanes.
std::int64_t max_cached_lanes(std::int64_t state_bytes);

}  // namespace lanista::step
