#include "lanista/plan/goodput/knapsack.h"

#include <algorithm>
#include <limits>

namespace lanista::goodput {

constexpr double kNever = -std::numeric_limits<double>::infinity();

namespace {

/// Returns the devices of each job of `jobs` by dynamic programming.
std::vector<std::int32_t> solve_by_dynamic_programming(const ChoiceLists& lists, const std::vector<std::size_t>& jobs,
                                                       std::int32_t total) {
  const auto width = static_cast<std::size_t>(total) + 1;
  std::vector<double> best(width, 0), next(width);
  std::vector<std::int32_t> taken(jobs.size() * width, 0);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::ranges::fill(next, kNever);
    for (const DeviceCount& choice : lists.list(lists.list_of[jobs[j]])) {
      for (std::size_t used = static_cast<std::size_t>(choice.devices); used < width; ++used) {
        const double value = best[used - static_cast<std::size_t>(choice.devices)] + choice.value;
        if (value <= next[used]) continue;
        next[used] = value;
        taken[j * width + used] = choice.devices;
      }
    }
    std::swap(best, next);
  }
  std::vector<std::int32_t> counts(jobs.size(), 0);
  auto left = width - 1;
  for (std::size_t j = jobs.size(); j-- > 0;) {
    const std::int32_t devices = taken[j * width + left];
    counts[j] = devices;
    left -= static_cast<std::size_t>(devices);
  }
  return counts;
}

/// The gain of a list's first device, and its largest gain per device.
struct ListGain {
  double first = kNever, best = 0;
};

/// Returns the gains of a list.
ListGain list_gain_of(std::span<const DeviceCount> list) {
  ListGain worth;
  for (const DeviceCount& choice : list) {
    if (choice.devices == 0) continue;
    const double gain = choice.value - list.front().value;
    if (choice.devices == 1) worth.first = gain;
    worth.best = std::max(worth.best, gain / choice.devices);
  }
  return worth;
}

/// Returns the jobs that may get devices, in their order.
std::vector<std::size_t> candidate_jobs_of(const ChoiceLists& lists, std::size_t total) {
  const std::size_t jobs = lists.list_of.size();
  std::vector<ListGain> worths;
  for (std::size_t i = 0; i < lists.ends.size(); ++i) worths.push_back(list_gain_of(lists.list(i)));
  const auto worth = [&](std::size_t j) -> const ListGain& { return worths[lists.list_of[j]]; };
  std::vector<std::pair<double, std::size_t>> first(jobs);
  for (std::size_t j = 0; j < jobs; ++j) first[j] = {-worth(j).first, j};
  double enough = 0;
  std::vector<bool> enters(jobs, false);
  if (total > 0 && jobs > total) {
    const auto last = first.begin() + static_cast<std::ptrdiff_t>(total) - 1;
    std::ranges::nth_element(first, last);
    enough = std::max(0.0, -last->first);
    for (auto it = first.begin(); it <= last; ++it) enters[it->second] = true;
  }
  std::vector<std::size_t> all;
  for (std::size_t j = 0; j < jobs; ++j) {
    if (worth(j).best > (enters[j] ? 0 : enough)) all.push_back(j);
  }
  return all;
}

}  // namespace

std::vector<std::int32_t> solve_large(const ChoiceLists& lists, std::int32_t total) {
  const auto candidate_jobs = candidate_jobs_of(lists, static_cast<std::size_t>(total));
  const auto solved = solve_by_dynamic_programming(lists, candidate_jobs, total);
  std::vector<std::int32_t> counts(lists.list_of.size(), 0);
  for (std::size_t e = 0; e < candidate_jobs.size(); ++e) counts[candidate_jobs[e]] = solved[e];
  return counts;
}

}  // namespace lanista::goodput
