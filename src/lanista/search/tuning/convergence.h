#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::study {

/// What MLtuner calls a loss that was followed for a while (Cui, Ganger, Gibbons, arXiv 1803.07445).
enum class Trend { kConverging, kUnstable, kDiverged };
std::string_view trend_name(Trend trend);
/// Errors: kDataLoss.
Result<Trend> trend_from_name(std::string_view name);

struct ConvergenceRule {
  std::int64_t windows = 10;  ///< K: a trace is cut into so many, of which the means count
  double diverged = 10;       ///< a last loss above so many times the first
  double unstable = 0.1;      ///< a largest rise above this share of the range
};

struct Convergence {
  Trend trend = Trend::kDiverged;
  double slope = 0;  ///< penalised: (range + noise) / time; below 0 where the loss falls
  double speed = 0;  ///< how fast it falls: -slope, at least 0; 0 of one that diverged
  bool operator==(const Convergence&) const = default;
};

/// Of losses at rising times, the first of them the loss at the start. The range is the last loss less the first, the
/// noise the largest single rise. At least two points; a loss that is not finite has diverged.
Convergence judge_convergence(std::span<const double> times, std::span<const double> losses,
                              const ConvergenceRule& rule = {});

/// Of a trace of losses, one a step, that begins at time 0 with `start`. Cut into windows of (nearly) equal length, of
/// fewer than rule.windows where there are not as many losses. At least one loss.
Convergence convergence_of(double start, std::span<const double> losses, const ConvergenceRule& rule = {});

/// How many standard errors the loss of one branch rises over another's by the step: the slope, through zero where both
/// began, of their differences over the steps, by its standard error. Above 0: the first falls less. 0 of fewer than
/// two steps; without any scatter infinite, or 0 where the slope is 0. Of two traces of equal length.
double slope_difference_in_errors(std::span<const double> first, std::span<const double> second);

}  // namespace lanista::study
