#include "lanista/exec/pipeline_parallel/stage_clock.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lanista::nn {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t* words(std::byte* at) { return reinterpret_cast<std::int64_t*>(at); }

// From the first pass that began to the last that ended; passes are pairs.
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

StageClock::StageClock(const Stages& stages, std::int64_t batch) : stages_(stages), batch_(batch), first_{0} {
  stages_.observer = nullptr;
  stages_.elsewhere = nullptr;
  for (const auto& place : stages_.places) first_.push_back(first_.back() + place.size());
  for (auto& kept : kept_) kept.resize(2 * first_.back());
}

std::int64_t StageClock::bytes() const {
  return first_.empty() ? 0 : static_cast<std::int64_t>((1 + 2 * first_.back()) * sizeof(std::int64_t));
}

void StageClock::Row::note(std::size_t at) const {
  if (at_ != nullptr) at_[at] = now();
}

StageClock::Row StageClock::row(std::byte* at, std::size_t place) const {
  std::int64_t* const all = words(at);
  return Row(*all != 0 ? all + 1 + 2 * first_[place] : nullptr);
}

void StageClock::begin(std::byte* at, bool is_whole) {
  const bool is_timed = is_whole && ++whole_ > kWarmUp && timed_ < kTimed && first_.back() > 0;
  *words(at) = is_timed ? 1 : 0;
}

void StageClock::end(const std::byte* at) {
  const auto* const all = reinterpret_cast<const std::int64_t*>(at);
  if (*all == 0) return;
  std::copy_n(all + 1, kept_[timed_].size(), kept_[timed_].data());
  ++timed_;
}

std::optional<StepTimes> StageClock::take() {
  if (timed_ < kTimed || std::exchange(is_told_, true)) return std::nullopt;
  std::ranges::sort(kept_, {}, length_of);
  const std::vector<std::int64_t>& middle = kept_[kTimed / 2];
  const std::int64_t begin = span_of(middle).first;
  const auto seconds = [&](std::size_t i) { return 1e-9 * static_cast<double>(middle[i] - begin); };
  StepTimes times{.stages = stages_, .batch = batch_, .places = {}};
  for (std::size_t p = 0; p + 1 < first_.size(); ++p) {
    auto& place = times.places.emplace_back();
    for (std::size_t i = first_[p]; i < first_[p + 1]; ++i) place.push_back({seconds(2 * i), seconds(2 * i + 1)});
  }
  for (auto& kept : kept_) kept = {};
  return times;
}

}  // namespace lanista::nn
