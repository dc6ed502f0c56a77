#include "lanista/plan/elastic/cluster.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lanista::plan {
namespace {

/// Returns the error for a field out of range.
Error out_of_range(const std::string& field, const std::string& value, const std::string& allowed) {
  return {Code::kOutOfRange, field + " is " + value + "; " + allowed, field};
}

/// Returns a number without trailing zeros.
std::string number(double value) {
  std::string text = std::to_string(value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

Result<void> check_cluster(const Cluster& cluster) {
  constexpr std::int64_t kMostWorkers = 10'000;
  if (cluster.workers < 1 || cluster.workers > kMostWorkers) {
    return out_of_range("workers", std::to_string(cluster.workers), "allowed are 1 to 10000");
  }
  if (cluster.shares < 1 || cluster.shares > 64 || !std::has_single_bit(static_cast<std::uint64_t>(cluster.shares))) {
    return out_of_range("shares", std::to_string(cluster.shares), "allowed are 1, 2, 4, 8, 16, 32, 64");
  }
  if (cluster.widest < 1 || cluster.widest > 1024) {
    return out_of_range("widest", std::to_string(cluster.widest), "allowed are 1 to 1024");
  }
  if (!(cluster.memory > 0) || !std::isfinite(cluster.memory)) {
    return out_of_range("memory", number(cluster.memory), "it must be a positive number");
  }
  if (!(cluster.reserve >= 0 && cluster.reserve < 1)) {
    return out_of_range("reserve", number(cluster.reserve), "allowed is from 0 to less than 1");
  }
  if (!(cluster.interference >= 0 && cluster.interference <= 10)) {
    return out_of_range("interference", number(cluster.interference), "allowed is from 0 to 10");
  }
  return {};
}

Prediction prediction_of(double seconds, double serial, double busy, double memory, double resize) {
  return {.steps = 1,
          .work = seconds * (1 - serial),
          .overhead = seconds * serial,
          .latency = 0,
          .transfer = 0,
          .busy = busy,
          .memory = memory,
          .resize = resize};
}

double seconds_at(const Prediction& trial, std::int64_t width) {
  const double w = static_cast<double>(width);
  double step = trial.work / w + trial.overhead;
  if (width > 1) step += 2 * (w - 1) * trial.latency + 2 * (w - 1) / w * trial.transfer;
  return trial.steps * step;
}

std::int64_t fastest_width(const Prediction& trial, std::int64_t widest) {
  std::int64_t best = 1;
  for (std::int64_t w = 2; w <= std::min(widest, trial.widest); ++w) {
    if (seconds_at(trial, w) < seconds_at(trial, best)) best = w;
  }
  return best;
}

double slowdown(double busy, std::int64_t count, const Cluster& cluster) {
  return std::max(1.0, busy) * (1 + cluster.interference * static_cast<double>(std::max<std::int64_t>(count, 1) - 1));
}

double seconds_at(const Prediction& trial, const Width& width, const Cluster& cluster) {
  if (width.parts == 1) return seconds_at(trial, width.workers);
  return seconds_at(trial, 1) * slowdown(trial.busy * static_cast<double>(width.parts), width.parts, cluster);
}

}  // namespace lanista::plan
