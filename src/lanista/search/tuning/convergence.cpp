#include "lanista/search/tuning/convergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lanista/base/check.h"

namespace lanista::study {

std::string_view trend_name(Trend trend) {
  return trend == Trend::kConverging ? "converging" : trend == Trend::kUnstable ? "unstable" : "diverged";
}

Convergence judge_convergence(std::span<const double> times, std::span<const double> losses,
                              const ConvergenceRule& rule) {
  LANISTA_CHECK(times.size() == losses.size() && losses.size() >= 2, "a trend of fewer than two losses");
  const double first = losses.front(), last = losses.back();
  const bool is_finite = std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); });
  if (!is_finite || last > rule.diverged * first) return {Trend::kDiverged, std::numeric_limits<double>::infinity(), 0};
  const double range = last - first;
  double noise = 0;
  for (std::size_t i = 1; i < losses.size(); ++i) noise = std::max(noise, losses[i] - losses[i - 1]);
  Convergence out;
  out.slope = (range + noise) / (times.back() - times.front());
  out.speed = std::max(-out.slope, 0.0);
  out.trend = noise > rule.unstable * std::abs(range) ? Trend::kUnstable : Trend::kConverging;
  return out;
}

Convergence convergence_of(double start, std::span<const double> losses, const ConvergenceRule& rule) {
  LANISTA_CHECK(!losses.empty(), "a trend of no losses");
  const std::size_t windows =
      std::min(static_cast<std::size_t>(std::max<std::int64_t>(rule.windows, 1)), losses.size());
  std::vector<double> times{0}, means{start};
  for (std::size_t i = 0; i < windows; ++i) {
    const std::size_t begin = i * losses.size() / windows, end = (i + 1) * losses.size() / windows;
    double time = 0, loss = 0;
    for (std::size_t step = begin; step < end; ++step) {
      time += static_cast<double>(step + 1);
      loss += losses[step];
    }
    times.push_back(time / static_cast<double>(end - begin));
    means.push_back(loss / static_cast<double>(end - begin));
  }
  return judge_convergence(times, means, rule);
}

double slope_difference_in_errors(std::span<const double> first, std::span<const double> second) {
  LANISTA_CHECK(first.size() == second.size(), "traces of different lengths");
  if (first.size() < 2) return 0;
  double with_time = 0, time_squared = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double t = static_cast<double>(i + 1);
    with_time += t * (first[i] - second[i]);
    time_squared += t * t;
  }
  const double slope = with_time / time_squared;
  double rest = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double off = first[i] - second[i] - slope * static_cast<double>(i + 1);
    rest += off * off;
  }
  const double error = std::sqrt(rest / static_cast<double>(first.size() - 1) / time_squared);
  if (slope == 0) return 0;
  return slope / error;
}

}  // namespace lanista::study
