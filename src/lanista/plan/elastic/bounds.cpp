#include "lanista/plan/elastic/bounds.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace lanista::plan {
namespace {

/// A width of a trial.
struct WidthOption {
  double seconds = 0;  ///< Seconds of the trial.
  double area = 0;     ///< Worker-seconds that it occupies.
};

/// Returns the widths that a trial may have.
std::vector<WidthOption> width_options_of(const Prediction& trial, const Cluster& cluster) {
  const double alone = seconds_at(trial, 1);
  std::vector<WidthOption> ways{{alone, cluster.shares > 1 ? std::min(1.0, trial.busy) * alone : alone}};
  for (std::int64_t w = 2; w <= std::min({cluster.widest, cluster.workers, trial.widest}); ++w) {
    const double seconds = seconds_at(trial, w);
    ways.push_back({seconds, static_cast<double>(w) * seconds});
  }
  return ways;
}

/// Returns the least worker-seconds of a trial that ends within `limit` and keeps its width.
double fixed_area(const std::vector<WidthOption>& ways, double limit) {
  double least = std::numeric_limits<double>::infinity();
  for (const WidthOption& way : ways) {
    if (way.seconds <= limit) least = std::min(least, way.area);
  }
  return least;
}

/// Returns the least worker-seconds of a trial that ends within `limit` and may mix two widths.
double mixed_area(const std::vector<WidthOption>& ways, double limit) {
  double least = fixed_area(ways, limit);
  for (const WidthOption& quick : ways) {
    if (quick.seconds > limit) continue;
    for (const WidthOption& slow : ways) {
      if (slow.seconds <= limit) continue;
      const double part = (limit - quick.seconds) / (slow.seconds - quick.seconds);
      least = std::min(least, quick.area + part * (slow.area - quick.area));
    }
  }
  return least;
}

/// Returns the smallest T >= least at which the sum of area(trial, T) is at most workers x T. The sum falls with T.
template <class Area>
double smallest_limit(const std::vector<std::vector<WidthOption>>& trials, double workers, double least, Area area) {
  const auto fits = [&](double limit) {
    double sum = 0;
    for (const auto& ways : trials) sum += area(ways, limit);
    return sum <= workers * limit;
  };
  if (fits(least)) return least;
  double low = least, high = least;
  while (!fits(high)) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

double Bounds::best() const { return std::max({area, longest, memory, elastic}); }

Bounds bounds_of(std::span<const Prediction> trials, const Cluster& cluster) {
  Bounds out;
  if (trials.empty()) return out;
  const double workers = static_cast<double>(cluster.workers);
  std::vector<std::vector<WidthOption>> ways;
  for (const Prediction& trial : trials) {
    ways.push_back(width_options_of(trial, cluster));
    double area = std::numeric_limits<double>::infinity(), seconds = area;
    for (const WidthOption& way : ways.back())
      area = std::min(area, way.area), seconds = std::min(seconds, way.seconds);
    out.area += area / workers;
    out.longest = std::max(out.longest, seconds);
    out.memory += trial.memory * seconds / (workers * cluster.usable_memory());
  }
  if (out.longest == 0) return out;
  out.dual = smallest_limit(ways, workers, out.longest, fixed_area);
  out.elastic = smallest_limit(ways, workers, out.longest, mixed_area);
  return out;
}

}  // namespace lanista::plan
