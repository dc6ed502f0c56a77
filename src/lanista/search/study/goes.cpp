#include "lanista/search/study/goes.h"

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

/// Spans of a worker, in the order in which they were told, that may be one go.
using Told = std::vector<std::size_t>;

bool goes_on(const std::vector<Span>& spans, const Told& told, const Span& span) {
  const Span& first = spans[told.front()];
  const auto place = static_cast<double>(told.size());
  return span.lanes == first.lanes && std::ssize(told) < first.lanes &&
         std::abs(span.began - place * length_of(span) - first.began) <= kEqual &&
         std::ranges::none_of(told, [&](std::size_t i) { return spans[i].trial == span.trial; });
}

Go go_of(const std::vector<Span>& spans, const Told& told) {
  const Span& first = spans[told.front()];
  Go go{first.worker, first.began, end_of(first), {}, std::max<std::int64_t>(1, first.lanes), first.width};
  if (told.size() == 1) {
    go.turns = {{told.front(), length_of(first)}};
    return go;
  }
  Told by_end = told;
  const auto lanes = static_cast<double>(go.lanes);
  std::ranges::stable_sort(by_end, {}, [&](std::size_t i) { return length_of(spans[i]); });
  double at = 0, own = 0, left = lanes;
  for (const std::size_t i : by_end) {
    const double through = lanes * length_of(spans[i]);
    own += (through - at) / left--;
    at = through;
    go.turns.push_back({i, own});
  }
  go.ended = go.began + at;
  std::ranges::sort(go.turns, {}, [&](const Go::Turn& turn) { return spans[turn.span].trial; });
  return go;
}

std::vector<Go> led(const StudyView& view) {
  std::map<std::int64_t, Told> pending;
  std::vector<Go> out;
  const auto flush = [&](Told& told) {
    if (told.empty()) return;
    if (std::ssize(told) == view.spans[told.front()].lanes) {
      out.push_back(go_of(view.spans, told));
    } else {
      for (const std::size_t i : told) out.push_back(go_of(view.spans, {i}));
    }
    told.clear();
  };
  for (std::size_t i = 0; i < view.spans.size(); ++i) {
    Told& told = pending[view.spans[i].worker];
    if (!told.empty() && !goes_on(view.spans, told, view.spans[i])) flush(told);
    told.push_back(i);
  }
  for (auto& [worker, told] : pending) flush(told);
  return out;
}

/// When workers are taken, by their numbers.
class Taken {
 public:
  Taken(const StudyView& view, const std::vector<Go>& goes) {
    std::int64_t widest = 1;
    for (const Go& go : goes) {
      widest = std::max(widest, go.width);
      add(go.worker, go.began, go.ended);
    }
    for (const auto& process : view.workers.present) of_[process.worker];
    for (std::int64_t number = 0; std::ssize(of_) < widest; ++number) of_[number];
  }

  void add(std::int64_t worker, double began, double ended) {
    auto& until = of_[worker][began];
    until = std::max(until, ended);
  }

  /// Those with the least to do between `began` and `ended`, `count` of them at most.
  std::vector<std::int64_t> idlest(std::int64_t but, double began, double ended, std::int64_t count) const {
    std::vector<std::pair<double, std::int64_t>> busy;
    for (const auto& [worker, times] : of_) {
      if (worker != but) busy.emplace_back(within(times, began, ended), worker);
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

std::vector<Go> goes(const StudyView& view) {
  std::vector<Go> out = led(view);
  const auto by_worker = [&] {
    std::ranges::stable_sort(out, {}, [](const Go& go) { return std::tuple(go.worker, go.began, go.ended); });
  };
  by_worker();
  std::vector<Go> wide;
  std::ranges::copy_if(out, std::back_inserter(wide), [](const Go& go) { return go.width > 1; });
  if (wide.empty()) return out;
  Taken taken(view, out);
  std::ranges::stable_sort(wide, {}, &Go::began);
  for (const Go& leading : wide) {
    for (const auto worker : taken.idlest(leading.worker, leading.began, leading.ended, leading.width - 1)) {
      taken.add(worker, leading.began, leading.ended);
      out.push_back(leading);
      out.back().worker = worker;
      out.back().leader = leading.worker;
    }
  }
  by_worker();
  return out;
}

}  // namespace lanista::study
