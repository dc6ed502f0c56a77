#include "lanista/plan/elastic/fluid.h"

#include <algorithm>
#include <cmath>

namespace lanista::schedule {

std::vector<Width> static_widths(std::span<const double> seconds, std::int64_t idle, const Cluster& cluster) {
  double all = 0;
  for (const double each : seconds) all += each;
  std::vector<Width> widths;
  for (const double each : seconds) {
    const double proportion = all > 0 ? each / all : 1 / static_cast<double>(seconds.size());
    const auto whole = static_cast<std::int64_t>(std::floor(proportion * static_cast<double>(idle)));
    widths.push_back(whole < 1 ? Width{1, cluster.shares} : Width{std::min(whole, cluster.widest), 1});
  }
  return widths;
}

bool resizes(const Prediction& trial, double left, const Width& now, const Width& wanted, const Cluster& cluster) {
  const double before = left * seconds_at(trial, now, cluster);
  const double after = left * seconds_at(trial, wanted, cluster) + trial.resize;
  if (wanted.value() > now.value()) return after < before;
  if (wanted.value() < now.value()) return wanted.value() * after < now.value() * before;
  return false;
}

std::vector<Width> dynamic_widths(std::span<const TrialState> trials, const Cluster& cluster) {
  std::vector<double> seconds;
  for (const TrialState& each : trials) seconds.push_back(each.left * seconds_at(each.trial, 1));
  std::vector<Width> widths = static_widths(seconds, cluster.workers, cluster);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialState& each = trials[i];
    if (each.width && !resizes(each.trial, each.left, *each.width, widths[i], cluster)) widths[i] = *each.width;
  }
  return widths;
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

}  // namespace lanista::schedule
