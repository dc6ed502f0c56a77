#include "lanista/plan/elastic/fluid.h"

#include <algorithm>

namespace lanista::plan {

bool resizes(const Prediction& trial, double left, const Width& now, const Width& wanted, const Cluster& cluster) {
  const double before = left * seconds_at(trial, now, cluster);
  const double after = left * seconds_at(trial, wanted, cluster) + trial.resize;
  if (wanted.value() > now.value()) return after < before;
  if (wanted.value() < now.value()) return wanted.value() * after < now.value() * before;
  return false;
}

std::optional<double> water_level(std::span<const double> seconds, const Cluster& cluster) {
  const double narrowest = 1 / static_cast<double>(cluster.shares), widest = static_cast<double>(cluster.widest);
  const double workers = static_cast<double>(cluster.workers);
  const auto filled = [&](double level) {
    double sum = 0;
    for (const double each : seconds) sum += std::clamp(each / level, narrowest, widest);
    return sum;
  };
  if (seconds.empty()) return 0;
  double low = std::ranges::min(seconds) / widest, high = std::ranges::max(seconds) / narrowest;
  if (low <= 0 || filled(high) > workers) return std::nullopt;
  if (filled(low) <= workers) return low;
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (filled(middle) <= workers ? high : low) = middle;
  }
  return high;
}

}  // namespace lanista::plan
