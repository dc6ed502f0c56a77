#include "lanista/plan/elastic/width_choice.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace lanista::schedule {
namespace {

/// 1, 2, 4 and so on, and the widest.
std::vector<std::int64_t> widths_to(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t width = 1; width < most; width *= 2) out.push_back(width);
  out.push_back(std::max<std::int64_t>(most, 1));
  return out;
}

}  // namespace

double WidthChoice::step_of(const std::deque<double>& last) {
  std::vector<double> sorted(last.begin(), last.end());
  std::ranges::sort(sorted);
  return sorted[(sorted.size() - 1) / 2];
}

void WidthChoice::know(const std::string& program, const std::map<std::int64_t, double>& seconds) {
  if (seconds.empty() || programs_.contains(program)) return;
  Program& known = programs_[program];
  double best = 0;
  for (const auto& [width, step] : seconds) {
    if (width < 1 || step <= 0) continue;
    known.last[width].assign(kTries, step);
    if (best == 0 || step * kGain < best) {
      best = step;
      known.kept = width;
    }
  }
}

void WidthChoice::observe(const std::string& program, std::int64_t width, double seconds) {
  if (width < 1 || seconds <= 0) return;
  Program& of = programs_[program];
  std::deque<double>& last = of.last[width];
  last.push_back(seconds);
  if (last.size() > kWindow) last.pop_front();
  const auto kept = of.last.find(of.kept);
  if (kept == of.last.end()) {
    of.kept = width;  // the first that is known
  } else {
    // The best of those that were tried often enough takes the place of the one in force if it is better by the gain.
    std::int64_t best = of.kept;
    double least = step_of(kept->second) / kGain;
    for (const auto& [each, epochs] : of.last) {
      if (each == of.kept || epochs.size() < kTries || step_of(epochs) >= least) continue;
      least = step_of(epochs);
      best = each;
    }
    of.kept = best;
  }
  if (--of.until_again > 0) return;
  of.again = std::min(2 * of.again, kMostAgain);
  of.until_again = of.again;
  for (auto& [each, epochs] : of.last) {
    if (each != of.kept && epochs.size() >= kTries) epochs.resize(1);
  }
}

std::int64_t WidthChoice::wanted(const std::string& program, std::int64_t most) const {
  const auto found = programs_.find(program);
  if (found == programs_.end() || most <= 1) return 1;
  const Program& of = found->second;
  std::optional<double> best;
  for (const std::int64_t width : widths_to(most)) {
    const auto epochs = of.last.find(width);
    if (epochs == of.last.end() || epochs->second.size() < kTries) return width;
    const double step = step_of(epochs->second);
    if (best && step * kGain >= *best) break;  // what is wider gains nothing either
    best = best ? std::min(*best, step) : step;
  }
  if (of.kept <= most) return of.kept;
  // The one in force was of a trial that could be wider.
  std::int64_t out = 1;
  double least = 0;
  for (const auto& [width, epochs] : of.last) {
    if (width > most || (least > 0 && step_of(epochs) * kGain >= least)) continue;
    least = step_of(epochs);
    out = width;
  }
  return out;
}

std::map<std::int64_t, double> WidthChoice::seconds(const std::string& program) const {
  std::map<std::int64_t, double> out;
  const auto found = programs_.find(program);
  if (found == programs_.end()) return out;
  for (const auto& [width, epochs] : found->second.last) out[width] = step_of(epochs);
  return out;
}

}  // namespace lanista::schedule
