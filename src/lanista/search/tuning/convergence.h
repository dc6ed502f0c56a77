#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lanista::study {

/// Classes of a loss trace in MLtuner (Cui, Ganger, Gibbons, arXiv 1803.07445), the best first. A trace has diverged if
/// a loss is not finite or the last one is far above the first. It is unstable if its largest rise is large for its
/// range. Else it converges. ConvergenceRule has the factors.
enum class Trend { kConverging, kUnstable, kDiverged };
/// Returns the name of `trend` in records: "converging", "unstable" or "diverged".
std::string_view trend_name(Trend trend);

/// Thresholds for the class of a loss trace.
struct ConvergenceRule {
  std::int64_t windows = 10;  ///< K: number of windows of a trace, of which the means count.
  double diverged = 10;       ///< A trace has diverged if its last loss is above this factor times the first.
  /// A trace is unstable if its largest single rise is above this factor times the magnitude of its range.
  double unstable = 0.1;
};

/// Class and speed of a loss trace.
struct Convergence {
  Trend trend = Trend::kDiverged;
  /// Penalised slope (range + noise) / time, in loss per step; below 0 if the loss falls, infinite if diverged.
  double slope = 0;
  double speed = 0;  ///< Fall of the loss per step: -slope, at least 0; 0 if diverged.
  bool operator==(const Convergence&) const = default;
};

/// Returns the convergence of losses at rising times. The first loss is the one at the start. The range is the last
/// loss minus the first. The noise is the largest rise from one loss to the next, at least 0. Needs at least two
/// points. A trace with a loss that is not finite has diverged.
Convergence judge_convergence(std::span<const double> times, std::span<const double> losses,
                              const ConvergenceRule& rule = {});

/// Returns class and slope, by judge_convergence(), of `start` at time 0 and the mean loss of each window, at the mean
/// step of the window.
/// `losses` has one loss a step. They are divided into rule.windows windows of nearly equal length, or one for each
/// loss if these are fewer. Needs at least one loss.
Convergence convergence_of(double start, std::span<const double> losses, const ConvergenceRule& rule = {});

/// Returns by how many standard errors the loss trace `first` rises against `second`. Above 0: the loss of `first`
/// falls less. Both have one loss a step.
///
/// It is the slope of the differences of the losses over the steps, through zero at the start, divided by its standard
/// error. It is 0 for fewer than two steps. Without scatter it is infinite, or 0 if the slope is 0. Both traces have
/// the same length.
double slope_difference_in_errors(std::span<const double> first, std::span<const double> second);

}  // namespace lanista::study
