#include "lanista/plan/elastic/width_tuner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace lanista::plan {
namespace {

/// Returns 1, 2, 4 and so on, and `most`.
std::vector<std::int64_t> widths_to(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t width = 1; width < most; width *= 2) out.push_back(width);
  out.push_back(std::max<std::int64_t>(most, 1));
  return out;
}

}  // namespace

double WidthTuner::step_of(const std::deque<double>& last_epochs) {
  std::vector<double> sorted(last_epochs.begin(), last_epochs.end());
  std::ranges::sort(sorted);
  return sorted[(sorted.size() - 1) / 2];
}

void WidthTuner::set_known_seconds(const std::string& program, const std::map<std::int64_t, double>& seconds) {
  if (seconds.empty() || programs_.contains(program)) return;
  Program& known = programs_[program];
  double best = 0;
  for (const auto& [width, step] : seconds) {
    if (width < 1 || step <= 0) continue;
    known.last_epochs[width].assign(kEpochsPerTry, step);
    if (best == 0 || step * kMinGain < best) {
      best = step;
      known.current_width = width;
    }
  }
}

void WidthTuner::observe(const std::string& program, std::int64_t width, double seconds) {
  if (width < 1 || seconds <= 0) return;
  Program& of = programs_[program];
  std::deque<double>& last_epochs = of.last_epochs[width];
  last_epochs.push_back(seconds);
  if (last_epochs.size() > kWindow) last_epochs.pop_front();
  const auto current_width = of.last_epochs.find(of.current_width);
  if (current_width == of.last_epochs.end()) {
    of.current_width = width;  // The first known width.
  } else {
    // The fastest width with enough epochs replaces the current one if it is faster by kMinGain.
    std::int64_t best = of.current_width;
    double least = step_of(current_width->second) / kMinGain;
    for (const auto& [each, epochs] : of.last_epochs) {
      if (each == of.current_width || epochs.size() < kEpochsPerTry || step_of(epochs) >= least) continue;
      least = step_of(epochs);
      best = each;
    }
    of.current_width = best;
  }
  if (--of.epochs_until_retry > 0) return;
  of.retry_interval = std::min(2 * of.retry_interval, kMaxRetryEpochs);
  of.epochs_until_retry = of.retry_interval;
  for (auto& [each, epochs] : of.last_epochs) {
    if (each != of.current_width && epochs.size() >= kEpochsPerTry) epochs.resize(1);
  }
}

std::int64_t WidthTuner::next_width(const std::string& program, std::int64_t most) const {
  const auto found = programs_.find(program);
  if (found == programs_.end() || most <= 1) return 1;
  const Program& of = found->second;
  std::optional<double> best;
  for (const std::int64_t width : widths_to(most)) {
    const auto epochs = of.last_epochs.find(width);
    if (epochs == of.last_epochs.end() || epochs->second.size() < kEpochsPerTry) return width;
    const double step = step_of(epochs->second);
    if (best && step * kMinGain >= *best) break;  // Wider ones are not tried.
    best = best ? std::min(*best, step) : step;
  }
  if (of.current_width <= most) return of.current_width;
  // The current width comes from a trial that may be wider.
  std::int64_t out = 1;
  double least = 0;
  for (const auto& [width, epochs] : of.last_epochs) {
    if (width > most || (least > 0 && step_of(epochs) * kMinGain >= least)) continue;
    least = step_of(epochs);
    out = width;
  }
  return out;
}

std::map<std::int64_t, double> WidthTuner::seconds(const std::string& program) const {
  std::map<std::int64_t, double> out;
  const auto found = programs_.find(program);
  if (found == programs_.end()) return out;
  for (const auto& [width, epochs] : found->second.last_epochs) out[width] = step_of(epochs);
  return out;
}

}  // namespace lanista::plan
