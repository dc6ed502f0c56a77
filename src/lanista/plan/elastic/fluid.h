#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lanista/plan/elastic/cluster.h"

// Widths by Fluid's two formulas (Yu, Liu, Chowdhury; MLSys'21, algorithms 1 and 2), and what they round.
namespace lanista::schedule {

/// min(max(floor(p n), 1/c), d), where p is a trial's part of all seconds at width 1 and n the idle workers. The widths
/// need not fit: their sum may exceed n, or leave workers idle. `seconds`: remaining, at width 1.
std::vector<Width> static_widths(std::span<const double> seconds, std::int64_t idle, const Cluster& cluster);

/// Whether a running trial goes from `now` to `wanted`: up, if it ends sooner even after what the change costs; down,
/// if it occupies less although it takes longer. `left`: the part of its budget that remains.
bool resizes(const Prediction& trial, double left, const Width& now, const Width& wanted, const Cluster& cluster);

/// What a running trial has, or nothing if it waits.
struct TrialState {
  Prediction trial;
  double left = 1;
  std::optional<Width> width;
};
/// Algorithm 2: static_widths of all trials by what remains of them on all workers; who runs changes only where
/// `resizes` says so, and then to the new width, up or down (a widely read summary of algorithm 2 assigns the old one
/// on the way down).
std::vector<Width> dynamic_widths(std::span<const TrialState> trials, const Cluster& cluster);

/// The level T of true water filling: the sum of clip(seconds / T, 1/c, d) is n. Nothing if the narrowest widths do not
/// fit (more than c n trials), infinitely small T if the widest leave workers idle. By bisection.
std::optional<double> water_level(std::span<const double> seconds, const Cluster& cluster);

}  // namespace lanista::schedule
