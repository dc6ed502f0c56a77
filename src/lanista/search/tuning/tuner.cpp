#include "lanista/search/tuning/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/search/study/metric.h"

namespace lanista::study {
namespace {

constexpr std::int64_t kMaxLengthFactor = 4;  // largest factor of rules.retune

/// Returns the mean loss over the later half of a trace.
double level_of_later_half(std::span<const double> losses) {
  const std::span<const double> later = losses.subspan(losses.size() / 2);
  double sum = 0;
  for (const double loss : later) sum += loss;
  return sum / static_cast<double>(later.size());
}

}  // namespace

TuneSearch::TuneSearch(TuneRules rules, std::int64_t longest, std::int64_t trials, ProposeSetting propose,
                       bool includes_current)
    : rules_(std::move(rules)),
      longest_(longest),
      trials_(trials),
      propose_(std::move(propose)),
      includes_current_(includes_current),
      start_loss_(std::numeric_limits<double>::quiet_NaN()) {
  LANISTA_CHECK(longest_ >= 1 && trials_ >= 1, "a search of nothing");
  begin_race();
}

void TuneSearch::begin_race() {
  round_ = {};
  while (std::ssize(round_.branches) < rules_.parallel_tries && std::ssize(tries_) < trials_) {
    auto setting = propose_(tries_);
    if (!setting) {
      trials_ = std::ssize(tries_);
      break;
    }
    round_.branches.push_back(tries_.size());
    tries_.push_back({.setting = *std::move(setting), .losses = {}});
  }
  if (!round_.branches.empty()) round_.steps = std::min(std::max<std::int64_t>(rules_.time, 1), longest_);
}

void TuneSearch::add_losses(std::size_t branch, std::span<const double> losses) {
  Try& tried = tries_[branch];
  tried.losses.insert(tried.losses.end(), losses.begin(), losses.end());
}

void TuneSearch::mark_failed(std::size_t branch) { tries_[branch].failed = true; }

// All branches of the round ran the same time on the same batches. So their losses are compared, and no trend has to be
// separated from the noise of batches.
void TuneSearch::end_round() {
  if (std::isnan(start_loss_)) start_loss_ = first_loss();
  std::vector<std::size_t> order;
  for (const std::size_t branch : round_.branches) {
    Try& tried = tries_[branch];
    rate(tried);
    tried.is_alive = !tried.diverged;
    if (tried.is_alive) order.push_back(branch);
  }
  if (order.empty()) return begin_race();
  std::ranges::sort(order,
                    [this](auto a, auto b) { return std::pair(tries_[a].slope, a) < std::pair(tries_[b].slope, b); });
  const std::int64_t share = round_.steps == longest_ ? 1 : std::ssize(order) / rules_.halving;
  const auto stay = static_cast<std::size_t>(std::max<std::int64_t>(1, share));
  for (std::size_t i = stay; i < order.size(); ++i) tries_[order[i]].is_alive = false;
  order.resize(stay);
  if (stay == 1) {
    Try& winner = tries_[order.front()];
    // A branch that beats others on the same batches is better, even if its loss rose.
    winner.is_alive = winner.speed > 0 || tries_.size() > 1;
    if (winner.is_alive) best_ = order.front();
    round_ = {};
    return;
  }
  std::ranges::sort(order);
  round_ = {std::move(order), std::min(round_.steps * rules_.halving, longest_)};
}

// The first loss of a branch, before its first update, is the loss at the start.
double TuneSearch::first_loss() const {
  double sum = 0, count = 0;
  for (const std::size_t branch : round_.branches) {
    const std::vector<double>& losses = tries_[branch].losses;
    if (losses.empty() || !std::isfinite(losses.front())) continue;
    sum += losses.front();
    ++count;
  }
  return sum / count;
}

// Compares the later half of a trace with the start. The loss at the start is that of one batch and may be close to 0.
// So a branch at the level of the current setting has not diverged.
void TuneSearch::rate(Try& tried) const {
  const std::vector<double>& losses = tried.losses;
  tried.diverged =
      tried.failed || losses.empty() || !std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); });
  tried.slope = tried.speed = 0;
  if (tried.diverged) return;
  const double level = level_of_later_half(losses);
  double usual = start_loss_;
  if (includes_current_ && !tries_.front().losses.empty()) {
    usual = std::fmax(usual, level_of_later_half(tries_.front().losses));
  }
  tried.slope = (level - start_loss_) / static_cast<double>(losses.size());
  tried.speed = std::max(-tried.slope, 0.0);
  tried.diverged = level > rules_.diverged * usual;
}

std::int64_t TuneSearch::steps() const {
  std::int64_t steps = 0;
  for (const Try& tried : tries_) steps += std::ssize(tried.losses);
  return steps;
}

std::int64_t search_length_factor(std::span<const Measurement> measurements) {
  std::int64_t times = 1;
  const space::Sample* setting = nullptr;  // current setting of the trial
  for (const Measurement& m : measurements) {
    if (m.branches.empty()) continue;
    const auto kept = std::ranges::find(m.branches, true, &Branch::kept);
    const bool is_new = kept != m.branches.end() && (setting == nullptr || kept->setting != *setting);
    times = is_new ? 1 : std::min(2 * times, kMaxLengthFactor);
    if (is_new) setting = &kept->setting;
  }
  return times;
}

bool is_search_due(const TuneRules& rules, std::span<const Measurement> measurements) {
  if (measurements.empty()) return true;
  if (rules.retune == 0) return false;
  std::string metric = rules.on;
  if (metric.empty()) metric = measurements.front().metrics.contains("val_accuracy") ? "val_accuracy" : "val_loss";
  const double sign = more_is_better(metric).value_or(false) ? -1 : 1;
  std::int64_t since = 0;  // epoch of the best measurement, or of the last search
  std::optional<double> best;
  for (const Measurement& m : measurements) {
    if (m.epoch > 1 && !m.branches.empty()) since = std::max(since, m.epoch - 1);
    const auto found = m.metrics.find(metric);
    if (found == m.metrics.end() || std::isnan(found->second)) continue;
    if (best && sign * found->second >= *best) continue;
    best = sign * found->second;
    since = m.epoch;
  }
  const std::int64_t epochs = measurements.back().epoch;
  const auto aged = static_cast<std::int64_t>(rules.age * static_cast<double>(epochs));
  return epochs - since >= std::max(aged, rules.retune * search_length_factor(measurements));
}

}  // namespace lanista::study
