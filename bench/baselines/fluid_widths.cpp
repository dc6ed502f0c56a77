#include "bench/baselines/fluid_widths.h"

#include <algorithm>
#include <cmath>

#include "lanista/plan/elastic/fluid.h"

namespace lanista::plan {

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

}  // namespace lanista::plan
