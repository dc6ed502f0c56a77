#include "lanista/exec/pipeline_parallel/step_timer.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lanista::program {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t* words(std::byte* at) { return reinterpret_cast<std::int64_t*>(at); }

// Returns the first begin and the last end; `times` are pairs of both.
std::pair<std::int64_t, std::int64_t> span_of(const std::vector<std::int64_t>& times) {
  std::pair<std::int64_t, std::int64_t> span{times.front(), times.front()};
  for (std::size_t i = 0; i < times.size(); i += 2) {
    span.first = std::min(span.first, times[i]);
    span.second = std::max(span.second, times[i + 1]);
  }
  return span;
}

std::int64_t length_of(const std::vector<std::int64_t>& times) {
  const auto [begin, end] = span_of(times);
  return end - begin;
}

}  // namespace

StepTimer::StepTimer(const Stages& stages, std::int64_t batch)
    : stages_(stages), batch_(batch), first_pass_of_rank_{0} {
  stages_.observer = nullptr;
  stages_.remote_ranks = nullptr;
  for (const auto& rank : stages_.ranks) first_pass_of_rank_.push_back(first_pass_of_rank_.back() + rank.size());
  for (auto& kept : timed_steps_) kept.resize(2 * first_pass_of_rank_.back());
}

std::int64_t StepTimer::bytes() const {
  return first_pass_of_rank_.empty()
             ? 0
             : static_cast<std::int64_t>((1 + 2 * first_pass_of_rank_.back()) * sizeof(std::int64_t));
}

void StepTimer::Row::note(std::size_t at) const {
  if (at_ != nullptr) at_[at] = now();
}

StepTimer::Row StepTimer::row(std::byte* at, std::size_t rank) const {
  std::int64_t* const all = words(at);
  return Row(*all != 0 ? all + 1 + 2 * first_pass_of_rank_[rank] : nullptr);
}

void StepTimer::begin(std::byte* at, bool is_whole) {
  const bool is_timed =
      is_whole && ++num_whole_steps_ > kWarmUp && num_timed_ < kTimedSteps && first_pass_of_rank_.back() > 0;
  *words(at) = is_timed ? 1 : 0;
}

void StepTimer::end(const std::byte* at) {
  const auto* const all = reinterpret_cast<const std::int64_t*>(at);
  if (*all == 0) return;
  std::copy_n(all + 1, timed_steps_[num_timed_].size(), timed_steps_[num_timed_].data());
  ++num_timed_;
}

std::optional<StepTimes> StepTimer::take_step_times() {
  if (num_timed_ < kTimedSteps || std::exchange(is_reported_, true)) return std::nullopt;
  std::ranges::sort(timed_steps_, {}, length_of);
  const std::vector<std::int64_t>& middle = timed_steps_[kTimedSteps / 2];
  const std::int64_t begin = span_of(middle).first;
  const auto seconds = [&](std::size_t i) { return 1e-9 * static_cast<double>(middle[i] - begin); };
  StepTimes times{.stages = stages_, .batch = batch_, .ranks = {}};
  for (std::size_t p = 0; p + 1 < first_pass_of_rank_.size(); ++p) {
    auto& rank = times.ranks.emplace_back();
    for (std::size_t i = first_pass_of_rank_[p]; i < first_pass_of_rank_[p + 1]; ++i)
      rank.push_back({seconds(2 * i), seconds(2 * i + 1)});
  }
  for (auto& kept : timed_steps_) kept = {};
  return times;
}

}  // namespace lanista::program
