#include "lanista/plan/goodput/knapsack.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>

namespace lanista::cluster {

constexpr double kNever = -std::numeric_limits<double>::infinity();

namespace {

/// The dynamic programme; `choices_of(j)` is a range of DeviceCount.
template <class ChoicesOf>
std::vector<std::int32_t> solve_by_dynamic_programming(std::size_t jobs, const ChoicesOf& choices_of,
                                                       std::int32_t total) {
  const auto width = static_cast<std::size_t>(total) + 1;
  std::vector<double> best(width, 0), next(width);
  std::vector<std::int32_t> taken(jobs * width, -1);
  for (std::size_t j = 0; j < jobs; ++j) {
    std::ranges::fill(next, kNever);
    for (const DeviceCount& choice : choices_of(j)) {
      for (std::size_t used = static_cast<std::size_t>(choice.devices); used < width; ++used) {
        const double value = best[used - static_cast<std::size_t>(choice.devices)] + choice.value;
        if (value <= next[used]) continue;
        next[used] = value;
        taken[j * width + used] = choice.devices;
      }
    }
    std::swap(best, next);
  }
  std::vector<std::int32_t> counts(jobs, 0);
  auto left = width - 1;
  for (std::size_t j = jobs; j-- > 0;) {
    const std::int32_t devices = taken[j * width + left];
    if (devices < 0) return {};
    counts[j] = devices;
    left -= static_cast<std::size_t>(devices);
  }
  return counts;
}

/// What a list's first device gains, and what a device of it gains at most.
struct ListGain {
  double first = kNever, best = 0;
};

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

/// Jobs that may get devices, in their order.
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

std::vector<std::int32_t> solve_exactly(std::span<const std::vector<DeviceCount>> choices, std::int32_t total) {
  return solve_by_dynamic_programming(
      choices.size(), [&](std::size_t j) { return std::span(choices[j]); }, total);
}

std::vector<std::int32_t> solve_large(const ChoiceLists& lists, std::int32_t total) {
  const auto candidate_jobs = candidate_jobs_of(lists, static_cast<std::size_t>(total));
  const auto dealt = solve_by_dynamic_programming(
      candidate_jobs.size(), [&](std::size_t e) { return lists.list(lists.list_of[candidate_jobs[e]]); }, total);
  std::vector<std::int32_t> counts(lists.list_of.size(), 0);
  for (std::size_t e = 0; e < candidate_jobs.size(); ++e) counts[candidate_jobs[e]] = dealt[e];
  return counts;
}

std::vector<std::int32_t> greedy_counts(std::size_t jobs, std::int32_t total,
                                        const std::function<double(std::size_t, std::int32_t)>& value) {
  struct Gain {
    double gain = 0;
    std::size_t job = 0;
    bool operator<(const Gain& other) const { return gain != other.gain ? gain < other.gain : job > other.job; }
  };
  std::vector<std::int32_t> counts(jobs, 0);
  std::priority_queue<Gain> queue;
  const auto push = [&](std::size_t j) { queue.push({value(j, counts[j] + 1) - value(j, counts[j]), j}); };
  for (std::size_t j = 0; j < jobs; ++j) push(j);
  for (; total > 0 && !queue.empty() && queue.top().gain > 0; --total) {
    const std::size_t j = queue.top().job;
    queue.pop();
    ++counts[j];
    push(j);
  }
  return counts;
}

Result<std::vector<std::int32_t>> best_classes(std::span<const std::vector<ClassChoice>> choices,
                                               std::span<const std::int32_t> sizes) {
  constexpr std::size_t kMaxStates = 1'000'000;
  std::vector<std::size_t> stride;
  std::size_t states = 1;
  for (const std::int32_t size : sizes) {
    stride.push_back(states);
    states *= static_cast<std::size_t>(size) + 1;
    if (states > kMaxStates) {
      return Error{Code::kResourceExhausted,
                   "device classes: more than " + std::to_string(kMaxStates) + " combinations of what is left", ""};
    }
  }
  const auto left_of = [&](std::size_t state, std::size_t c) {
    return static_cast<std::int32_t>(state / stride[c] % (static_cast<std::size_t>(sizes[c]) + 1));
  };
  // best[s]: of the jobs so far with s left to them.
  std::vector<double> best(states, 0), next(states);
  std::vector<std::int32_t> taken(choices.size() * states, -1);
  for (std::size_t j = 0; j < choices.size(); ++j) {
    next = best;
    for (std::size_t i = 0; i < choices[j].size(); ++i) {
      const ClassChoice& choice = choices[j][i];
      const auto c = static_cast<std::size_t>(choice.device_class);
      for (std::size_t state = 0; state < states; ++state) {
        if (left_of(state, c) < choice.devices) continue;
        const double value = best[state - stride[c] * static_cast<std::size_t>(choice.devices)] + choice.value;
        if (value <= next[state]) continue;
        next[state] = value;
        taken[j * states + state] = static_cast<std::int32_t>(i);
      }
    }
    std::swap(best, next);
  }
  std::vector<std::int32_t> chosen(choices.size(), -1);
  std::size_t state = states - 1;
  for (std::size_t j = choices.size(); j-- > 0;) {
    chosen[j] = taken[j * states + state];
    if (chosen[j] < 0) continue;
    const ClassChoice& choice = choices[j][static_cast<std::size_t>(chosen[j])];
    state -= stride[static_cast<std::size_t>(choice.device_class)] * static_cast<std::size_t>(choice.devices);
  }
  return chosen;
}

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

}  // namespace lanista::cluster
