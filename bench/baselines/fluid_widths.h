#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lanista/plan/elastic/cluster.h"

// The two formulas of Fluid (Yu, Liu, Chowdhury; MLSys'21, algorithms 1 and 2), as baselines.
namespace lanista::plan {

/// Returns min(max(floor(p n), 1/c), d) for each trial, with p its part of all seconds and n the idle workers.
///
/// `seconds` are the remaining seconds of each trial at width 1. The widths need not fit: their sum may exceed n, or
/// leave workers idle.
std::vector<Width> static_widths(std::span<const double> seconds, std::int64_t idle, const Cluster& cluster);

/// A trial that waits or runs.
struct TrialState {
  Prediction trial;            ///< Its predicted times.
  double left = 1;             ///< Part of its budget that remains.
  std::optional<Width> width;  ///< Its present width; empty if it waits.
};
/// Algorithm 2: static_widths of all trials on all workers, by their remaining seconds.
///
/// A running trial changes only where `resizes` is true, and then to the new width, up or down. A widely read summary
/// of algorithm 2 keeps the old width on the way down.
std::vector<Width> dynamic_widths(std::span<const TrialState> trials, const Cluster& cluster);

}  // namespace lanista::plan
