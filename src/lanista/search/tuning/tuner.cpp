#include "lanista/search/tuning/tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/space/chooser.h"
#include "lanista/search/study/metric.h"

namespace lanista::study {
namespace {

constexpr std::int64_t kNumChecks = 4;        // checks of a try, with rules.sequential
constexpr std::int64_t kMaxLengthFactor = 4;  // largest factor of rules.retune

double mean_of(std::span<const double> losses) {
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}
/// Returns the mean loss over the later half of a trace.
double level_of_later_half(std::span<const double> losses) { return mean_of(losses.subspan(losses.size() / 2)); }

}  // namespace

ProposeSetting propose_one_parameter(space::SearchSpace space, space::Sample now, Rng rng) {
  return [space = std::move(space), now = std::move(now), rng](std::span<const Try> tries) {
    const auto better = [](const Try& a, const Try& b) {
      return a.seen.trend != b.seen.trend ? a.seen.trend < b.seen.trend : a.seen.speed > b.seen.speed;
    };
    const Try* best = nullptr;
    for (const Try& tried : tries) {
      if (tried.seen.speed > 0 && (best == nullptr || better(tried, *best))) best = &tried;
    }
    space::Sample setting = best == nullptr ? now : best->setting;
    const auto& parameters = space.parameters();
    const space::Parameter& varied = parameters[tries.size() % parameters.size()];
    space::RandomChooser chooser(rng.split(tries.size()));
    setting[varied.name] = chooser.sample_value(varied.name, varied.domain);
    return std::optional(std::move(setting));
  };
}

TuneSearch::TuneSearch(TuneRules rules, std::int64_t longest, std::int64_t trials, ProposeSetting propose,
                       bool includes_current)
    : rules_(std::move(rules)),
      longest_(longest),
      trials_(trials),
      propose_(std::move(propose)),
      includes_current_(includes_current) {
  LANISTA_CHECK(longest_ >= 1 && trials_ >= 1, "a search of nothing");
  if (rules_.halving > 0) {
    stage_ = Stage::kRace;
    time_ = std::min(std::max<std::int64_t>(rules_.time, 1), longest_);
    return;
  }
  time_ = std::min(std::max(rules_.trend.windows, rules_.time), longest_);
}

std::int64_t TuneSearch::start_steps() const {
  return rules_.halving > 0 ? 0 : std::min(rules_.trend.windows, longest_);
}

void TuneSearch::set_start_loss(double loss) {
  start_loss_ = loss;
  round_ = {propose(rules_.parallel_tries), time_};
  if (round_.branches.empty()) finish();
}

std::vector<std::size_t> TuneSearch::propose(std::int64_t count) {
  std::vector<std::size_t> fresh;
  while (std::ssize(fresh) < count && std::ssize(tries_) < trials_ && !exhausted_) {
    auto setting = propose_(tries_);
    exhausted_ = !setting.has_value();
    if (exhausted_) break;
    fresh.push_back(tries_.size());
    tries_.push_back({.setting = *std::move(setting), .losses = {}, .seen = {}});
  }
  return fresh;
}

void TuneSearch::add_losses(std::size_t branch, std::span<const double> losses) {
  Try& tried = tries_[branch];
  tried.losses.insert(tried.losses.end(), losses.begin(), losses.end());
}

void TuneSearch::mark_failed(std::size_t branch) { tries_[branch].failed = true; }

void TuneSearch::end_round() {
  if (stage_ == Stage::kRace) return race();
  if (stage_ == Stage::kProbation) return probation();
  for (const std::size_t branch : round_.branches) {
    Try& tried = tries_[branch];
    tried.seen = {};  // diverged
    if (!tried.failed && !tried.losses.empty()) tried.seen = convergence_of(start_loss_, tried.losses, rules_.trend);
    if (tried.seen.trend == Trend::kDiverged) tried.is_alive = false;
  }
  if (stage_ == Stage::kTime) {
    find_time();
  } else if (stage_ == Stage::kTries) {
    look();
  } else {
    finish();
  }
}

bool TuneSearch::better(std::size_t a, std::size_t b) const {
  const Convergence &left = tries_[a].seen, &right = tries_[b].seen;
  if (left.trend != right.trend) return left.trend < right.trend;
  if (left.speed != right.speed) return left.speed > right.speed;
  return a < b;
}

// All branches of the round ran the same time, on the same batches if they are paired. So their losses are compared,
// and no trend has to be separated from the noise of batches.
void TuneSearch::race() {
  if (std::isnan(start_loss_)) start_loss_ = first_loss();
  std::vector<std::size_t> order;
  for (const std::size_t branch : round_.branches) {
    Try& tried = tries_[branch];
    tried.seen = tried.failed ? Convergence{} : level_of(tried.losses);
    tried.is_alive = tried.seen.trend != Trend::kDiverged;
    if (tried.is_alive) order.push_back(branch);
  }
  if (order.empty()) return restart_race();
  std::ranges::sort(order, [this](auto a, auto b) {
    return std::pair(tries_[a].seen.slope, a) < std::pair(tries_[b].seen.slope, b);
  });
  const std::int64_t share = round_.steps == longest_ ? 1 : std::ssize(order) / rules_.halving;
  const auto stay = static_cast<std::size_t>(std::max<std::int64_t>(1, share));
  if (rules_.sure_standard_errors > 0 && includes_current_ && tries_.front().is_alive)
    return race_current_setting(std::move(order), stay);
  for (std::size_t i = stay; i < order.size(); ++i) tries_[order[i]].is_alive = false;
  if (stay == 1) return finish();
  order.resize(stay);
  std::ranges::sort(order);
  round_ = {std::move(order), std::min(round_.steps * rules_.halving, longest_)};
}

void TuneSearch::restart_race() {
  stage_ = Stage::kRace;
  round_ = {propose(rules_.parallel_tries), time_};
  if (round_.branches.empty()) finish();
}

// Starts the probation of the winner. There is none if the winner is the current setting, or at the end of the epoch.
bool TuneSearch::begin_probation() {
  if (rules_.undo == 0 || rules_.halving == 0 || stage_ == Stage::kProbation || !best_) return false;
  won_after_ = std::ssize(tries_[*best_].losses);
  const double further = std::ceil(rules_.undo * static_cast<double>(won_after_));
  const std::int64_t steps_left = longest_ - won_after_;
  if ((includes_current_ && *best_ == 0) || steps_left < 1) return false;
  stage_ = Stage::kProbation;
  round_ = {{*best_}, won_after_ + std::min(steps_left, static_cast<std::int64_t>(std::min(further, 1e9)))};
  return true;
}

void TuneSearch::probation() {
  Try& winner = tries_[*best_];
  const double bar = includes_current_ ? level_of_later_half(tries_.front().losses) : start_loss_;
  const double came_to = mean_of(std::span(winner.losses).subspan(static_cast<std::size_t>(won_after_)));
  if (!winner.failed && (came_to <= bar || (!std::isfinite(bar) && std::isfinite(came_to)))) return finish();
  winner.undone = true;
  winner.is_alive = false;
  if (includes_current_) return finish();
  best_.reset();
  restart_race();
}

// The current setting, try 0, stays until the best other try is significantly ahead of it or behind it.
void TuneSearch::race_current_setting(std::vector<std::size_t> order, std::size_t stay) {
  std::erase(order, 0U);
  for (std::size_t i = stay; i < order.size(); ++i) tries_[order[i]].is_alive = false;
  order.resize(std::min(stay, order.size()));
  if (order.empty()) return finish();
  if (order.size() == 1) {
    const double ahead = slope_difference_in_errors(tries_.front().losses, tries_[order.front()].losses);
    const bool is_worse =
        ahead < -rules_.sure_standard_errors || (round_.steps == longest_ && ahead <= rules_.sure_standard_errors);
    if (ahead > rules_.sure_standard_errors) tries_.front().is_alive = false;
    if (is_worse) tries_[order.front()].is_alive = false;
    if (is_worse || !tries_.front().is_alive) return finish();
  }
  order.push_back(0);
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
Convergence TuneSearch::level_of(std::span<const double> losses) const {
  if (losses.empty() || !std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); })) return {};
  const double level = level_of_later_half(losses);
  double usual = start_loss_;
  if (includes_current_ && !tries_.front().losses.empty()) {
    usual = std::fmax(usual, level_of_later_half(tries_.front().losses));
  }
  Convergence out;
  out.slope = (level - start_loss_) / static_cast<double>(losses.size());
  out.speed = std::max(-out.slope, 0.0);
  out.trend = level > rules_.trend.diverged * usual ? Trend::kDiverged : Trend::kConverging;
  return out;
}

// All tries that are alive have run the same time.
void TuneSearch::find_time() {
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < tries_.size(); ++i) {
    if (tries_[i].is_alive) alive.push_back(i);
  }
  const bool converges = std::ranges::any_of(
      alive, [&](std::size_t i) { return tries_[i].seen.trend == Trend::kConverging && tries_[i].seen.speed > 0; });
  if (converges) {
    full_ = alive;
    retain_best(rules_.final_round_factor > 1 ? 2 : 1);
    stage_ = Stage::kTries;
    return next_tries();
  }
  const bool at_the_bound = time_ == longest_;
  if (at_the_bound && !alive.empty()) return finish();
  time_ = std::min(2 * time_, longest_);
  std::vector<std::size_t> fresh = propose(1);
  alive.insert(alive.end(), fresh.begin(), fresh.end());
  if (alive.empty()) return finish();
  round_ = {std::move(alive), time_};
}

void TuneSearch::next_tries() {
  look_ = 0;
  std::vector<std::size_t> fresh;
  if (!has_similar_speeds()) fresh = propose(rules_.parallel_tries);
  if (fresh.empty()) return end_tries();
  const std::int64_t looks = rules_.sequential > 0 ? kNumChecks : 1;
  round_ = {std::move(fresh), (time_ + looks - 1) / looks};
}

// With rules.sequential a try runs in parts, and one that falls behind the best is discarded early.
void TuneSearch::look() {
  if (round_.steps == time_) return compare();
  ++look_;
  const auto leader = std::ranges::min_element(full_, [this](auto a, auto b) { return better(a, b); });
  const std::span<const double> ahead(tries_[*leader].losses);
  std::vector<std::size_t> left;
  for (const std::size_t branch : round_.branches) {
    Try& tried = tries_[branch];
    if (!tried.is_alive) continue;
    const bool is_worse =
        round_.steps >= rules_.trend.windows &&
        slope_difference_in_errors(tried.losses, ahead.first(tried.losses.size())) > rules_.sequential;
    if (is_worse) {
      tried.is_alive = false;
    } else {
      left.push_back(branch);
    }
  }
  round_ = {std::move(left), (time_ * (look_ + 1) + kNumChecks - 1) / kNumChecks};
  if (round_.branches.empty()) next_tries();
}

void TuneSearch::compare() {
  for (const std::size_t branch : round_.branches) {
    if (tries_[branch].is_alive) full_.push_back(branch);
  }
  retain_best(rules_.final_round_factor > 1 ? 2 : 1);
  next_tries();
}

void TuneSearch::retain_best(std::size_t count) {
  std::vector<std::size_t> order = full_;
  std::ranges::sort(order, [this](auto a, auto b) { return better(a, b); });
  for (std::size_t i = count; i < order.size(); ++i) tries_[order[i]].is_alive = false;
}

// Tries that were discarded later count as well.
bool TuneSearch::has_similar_speeds() const {
  if (std::ssize(full_) < rules_.best) return false;
  std::vector<double> speeds;
  for (const std::size_t branch : full_) speeds.push_back(tries_[branch].seen.speed);
  std::ranges::sort(speeds, std::greater());
  return 1 - speeds[static_cast<std::size_t>(rules_.best - 1)] / speeds.front() < rules_.speed_tolerance;
}

void TuneSearch::end_tries() {
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < tries_.size(); ++i) {
    if (tries_[i].is_alive) alive.push_back(i);
  }
  const double wanted = rules_.final_round_factor * static_cast<double>(time_);
  const std::int64_t longer = wanted >= static_cast<double>(longest_) ? longest_ : static_cast<std::int64_t>(wanted);
  if (alive.size() < 2 || longer <= time_) return finish();
  stage_ = Stage::kFinalRound;
  round_ = {std::move(alive), longer};
}

void TuneSearch::finish() {
  round_ = {};
  best_.reset();
  for (std::size_t i = 0; i < tries_.size(); ++i) {
    // A branch that beats the current setting on the same batches is better, even if its loss rose.
    const bool beats = rules_.halving > 0 && (includes_current_ || !rules_.progress) && tries_.size() > 1;
    const bool progresses = tries_[i].is_alive && (tries_[i].seen.speed > 0 || beats);
    if (progresses && (!best_ || better(i, *best_))) best_ = i;
  }
  if (begin_probation()) return;
  stage_ = Stage::kOver;
  for (std::size_t i = 0; i < tries_.size(); ++i) tries_[i].is_alive = best_ == i;
}

std::int64_t TuneSearch::steps() const {
  std::int64_t steps = start_steps();
  for (const Try& tried : tries_) steps += std::ssize(tried.losses);
  return steps;
}

std::int64_t search_length_factor(const TuneRules& rules, std::span<const Measurement> measurements) {
  std::int64_t times = 1;
  if (rules.halving == 0) return times;
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
  return epochs - since >= std::max(aged, rules.retune * search_length_factor(rules, measurements));
}

}  // namespace lanista::study
