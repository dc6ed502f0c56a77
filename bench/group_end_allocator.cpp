#include "bench/group_end_allocator.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "lanista/plan/goodput/packing.h"

namespace lanista::goodput {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

/// Returns the seconds until job j ends with k devices, k > 0.
double seconds_with(const AllocatorState& state, std::size_t j, std::int32_t k) {
  const JobView& job = state.jobs[j];
  const double rate = job.goodput == nullptr ? k : job.goodput->packed(k, state.nodes.devices);
  const double left = std::max(job.left.value_or(job.goodput_service), 1.0);
  return left / rate + (k == devices_of(state.current[j]) ? 0 : state.restart_seconds);
}

/// Returns the seconds of job j with at most 1, 2, ... devices, over packable counts. The first of equal counts is
/// packable.
std::vector<double> seconds_within(const AllocatorState& state, std::size_t j) {
  const std::int32_t total = state.nodes.total();
  std::vector<double> seconds;
  double least = kForever;
  for (std::int32_t k = 1; k <= total; ++k) {
    const bool may = k <= state.jobs[j].most && is_packable(k, state.nodes);
    if (may) least = std::min(least, seconds_with(state, j, k));
    seconds.push_back(least);
  }
  return seconds;
}

/// Returns one device for each of the longest jobs, the first of equals.
std::vector<std::int32_t> longest(const std::vector<std::vector<double>>& seconds, std::int32_t total) {
  std::vector<std::size_t> order(seconds.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t j) { return seconds[j].front(); });
  std::vector<std::int32_t> counts(seconds.size(), 0);
  for (std::int32_t i = 0; i < total; ++i) counts[order[static_cast<std::size_t>(i)]] = 1;
  return counts;
}

class GroupEndAllocator : public Allocator {
 public:
  std::string_view name() const override { return "barrier"; }

  std::vector<Allocation> allocate(const AllocatorState& state) override {
    std::vector<std::vector<double>> seconds;
    for (std::size_t j = 0; j < state.jobs.size(); ++j) seconds.push_back(seconds_within(state, j));
    const std::int32_t total = state.nodes.total();
    const bool too_many = seconds.size() > static_cast<std::size_t>(total);
    std::vector<std::int32_t> counts = too_many ? longest(seconds, total) : group_end_counts(seconds, total);
    if (!too_many) keep(state, seconds, counts);
    return pack(counts, state.current, state.nodes);
  }

 private:
  /// Lets a job that has more devices than it needs keep them, if it ends in time and they are free.
  static void keep(const AllocatorState& state, const std::vector<std::vector<double>>& seconds,
                   std::vector<std::int32_t>& counts) {
    std::int32_t free = state.nodes.total();
    double end = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
      free -= counts[j];
      end = std::max(end, seconds[j][static_cast<std::size_t>(counts[j]) - 1]);
    }
    for (std::size_t j = 0; j < counts.size(); ++j) {
      const std::int32_t had = devices_of(state.current[j]), more = had - counts[j];
      if (more <= 0 || more > free || !is_packable(had, state.nodes)) continue;
      if (seconds_with(state, j, had) > end) continue;
      counts[j] = had;
      free -= more;
    }
  }
};

}  // namespace

std::vector<std::int32_t> group_end_counts(std::span<const std::vector<double>> seconds, std::int32_t total) {
  std::vector<double> times;
  for (const auto& job : seconds) times.insert(times.end(), job.begin(), job.end());
  std::ranges::sort(times);
  const auto counts_within = [&](double limit) {
    std::vector<std::int32_t> counts;
    std::int64_t sum = 0;
    for (const auto& job : seconds) {
      const auto enough = std::ranges::lower_bound(job, limit, std::greater<>());
      if (enough == job.end()) return std::vector<std::int32_t>{};
      counts.push_back(static_cast<std::int32_t>(enough - job.begin()) + 1);
      sum += counts.back();
    }
    return sum <= total ? counts : std::vector<std::int32_t>{};
  };
  std::size_t low = 0, high = times.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (counts_within(times[middle]).empty()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < times.size() ? counts_within(times[low]) : std::vector<std::int32_t>{};
}

std::unique_ptr<Allocator> group_end_allocator() { return std::make_unique<GroupEndAllocator>(); }

}  // namespace lanista::goodput
