#include "lanista/model/autodiff/max_cached_lanes.h"

#include <algorithm>

namespace lanista::autodiff {
namespace {

constexpr std::int64_t kCacheBytes = std::int64_t{1} << 20;

}  // namespace

std::int64_t max_cached_lanes(std::int64_t state_bytes) {
  return std::clamp<std::int64_t>(kCacheBytes / std::max<std::int64_t>(state_bytes, 1), 1, kDefaultLanes);
}

}  // namespace lanista::autodiff
