#include "lanista/search/study/worker_timeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace lanista::study {
namespace {

constexpr double kEqual = 1e-6;  // seconds: sums of times are not exact

double end_of(const Span& span) { return std::max(span.began, span.ended); }
double length_of(const Span& span) { return end_of(span) - span.began; }

/// Spans of one worker, in the order of the log, that may form one interval.
using SpanIndices = std::vector<std::size_t>;

bool continues_interval(const std::vector<Span>& spans, const SpanIndices& span_indices, const Span& span) {
  const Span& first = spans[span_indices.front()];
  const auto place = static_cast<double>(span_indices.size());
  return span.lanes == first.lanes && std::ssize(span_indices) < first.lanes &&
         std::abs(span.began - place * length_of(span) - first.began) <= kEqual &&
         std::ranges::none_of(span_indices, [&](std::size_t i) { return spans[i].trial == span.trial; });
}

WorkerInterval interval_of(const std::vector<Span>& spans, const SpanIndices& span_indices) {
  const Span& first = spans[span_indices.front()];
  WorkerInterval interval{first.worker, first.began, end_of(first), {}, std::max<std::int64_t>(1, first.lanes),
                          first.width};
  if (span_indices.size() == 1) {
    interval.slices = {{span_indices.front(), length_of(first)}};
    return interval;
  }
  SpanIndices by_end = span_indices;
  const auto lanes = static_cast<double>(interval.lanes);
  std::ranges::stable_sort(by_end, {}, [&](std::size_t i) { return length_of(spans[i]); });
  double at = 0, own = 0, left = lanes;
  for (const std::size_t i : by_end) {
    const double through = lanes * length_of(spans[i]);
    own += (through - at) / left--;
    at = through;
    interval.slices.push_back({i, own});
  }
  interval.ended = interval.began + at;
  std::ranges::sort(interval.slices, {},
                    [&](const WorkerInterval::TimeSlice& slice) { return spans[slice.span].trial; });
  return interval;
}

std::vector<WorkerInterval> led_intervals(const StudyView& view) {
  std::map<std::int64_t, SpanIndices> pending;
  std::vector<WorkerInterval> out;
  const auto flush_intervals = [&](SpanIndices& span_indices) {
    if (span_indices.empty()) return;
    if (std::ssize(span_indices) == view.spans[span_indices.front()].lanes) {
      out.push_back(interval_of(view.spans, span_indices));
    } else {
      for (const std::size_t i : span_indices) out.push_back(interval_of(view.spans, {i}));
    }
    span_indices.clear();
  };
  for (std::size_t i = 0; i < view.spans.size(); ++i) {
    SpanIndices& span_indices = pending[view.spans[i].worker];
    if (!span_indices.empty() && !continues_interval(view.spans, span_indices, view.spans[i]))
      flush_intervals(span_indices);
    span_indices.push_back(i);
  }
  for (auto& [worker, span_indices] : pending) flush_intervals(span_indices);
  return out;
}

/// Times in which workers are busy, by worker number.
class BusyTimes {
 public:
  BusyTimes(const StudyView& view, const std::vector<WorkerInterval>& worker_timeline) {
    std::int64_t widest = 1;
    for (const WorkerInterval& interval : worker_timeline) {
      widest = std::max(widest, interval.width);
      add(interval.worker, interval.began, interval.ended);
    }
    for (const auto& process : view.workers.present) of_[process.worker];
    for (std::int64_t number = 0; std::ssize(of_) < widest; ++number) of_[number];
  }

  void add(std::int64_t worker, double began, double ended) {
    auto& until = of_[worker][began];
    until = std::max(until, ended);
  }

  /// Returns at most `count` workers other than `leader`, the least busy between `began` and `ended` first. All of them
  /// are idle for more than half of that time.
  std::vector<std::int64_t> least_busy(std::int64_t leader, double began, double ended, std::int64_t count) const {
    std::vector<std::pair<double, std::int64_t>> busy;
    for (const auto& [worker, times] : of_) {
      if (worker != leader) busy.emplace_back(within(times, began, ended), worker);
    }
    std::ranges::sort(busy);
    std::vector<std::int64_t> out;
    for (const auto& [seconds, worker] : busy) {
      if (std::ssize(out) < count && 2 * seconds < ended - began) out.push_back(worker);
    }
    return out;
  }

 private:
  using Times = std::map<double, double>;  // from, until

  static double within(const Times& times, double began, double ended) {
    double sum = 0;
    auto it = times.upper_bound(began);
    if (it != times.begin()) --it;
    for (; it != times.end() && it->first < ended; ++it) {
      const double shared = std::min(ended, it->second) - std::max(began, it->first);
      if (shared > kEqual) sum += shared;
    }
    return sum;
  }

  std::map<std::int64_t, Times> of_;
};

}  // namespace

std::vector<WorkerInterval> worker_timeline(const StudyView& view) {
  std::vector<WorkerInterval> out = led_intervals(view);
  const auto by_worker = [&] {
    std::ranges::stable_sort(out, {}, [](const WorkerInterval& interval) {
      return std::tuple(interval.worker, interval.began, interval.ended);
    });
  };
  by_worker();
  std::vector<WorkerInterval> wide;
  std::ranges::copy_if(out, std::back_inserter(wide),
                       [](const WorkerInterval& interval) { return interval.width > 1; });
  if (wide.empty()) return out;
  BusyTimes busy_times(view, out);
  std::ranges::stable_sort(wide, {}, &WorkerInterval::began);
  for (const WorkerInterval& leading : wide) {
    for (const auto worker : busy_times.least_busy(leading.worker, leading.began, leading.ended, leading.width - 1)) {
      busy_times.add(worker, leading.began, leading.ended);
      out.push_back(leading);
      out.back().worker = worker;
      out.back().leader = leading.worker;
    }
  }
  by_worker();
  return out;
}

}  // namespace lanista::study
