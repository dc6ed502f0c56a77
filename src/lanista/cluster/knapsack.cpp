#include "lanista/cluster/knapsack.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <string>

namespace lanista::cluster {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::vector<std::int32_t> best_counts(std::span<const std::vector<Choice>> choices, std::int32_t total) {
  const auto width = static_cast<std::size_t>(total) + 1;
  std::vector<double> best(width, 0), next(width);
  std::vector<std::int32_t> taken(choices.size() * width, -1);
  for (std::size_t j = 0; j < choices.size(); ++j) {
    std::ranges::fill(next, kNever);
    for (const Choice& choice : choices[j]) {
      for (std::size_t used = static_cast<std::size_t>(choice.devices); used < width; ++used) {
        const double value = best[used - static_cast<std::size_t>(choice.devices)] + choice.value;
        if (value <= next[used]) continue;
        next[used] = value;
        taken[j * width + used] = choice.devices;
      }
    }
    std::swap(best, next);
  }
  std::vector<std::int32_t> counts(choices.size(), 0);
  auto left = width - 1;
  for (std::size_t j = choices.size(); j-- > 0;) {
    const std::int32_t devices = taken[j * width + left];
    if (devices < 0) return {};
    counts[j] = devices;
    left -= static_cast<std::size_t>(devices);
  }
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
  constexpr std::size_t kMost = 1'000'000;
  std::vector<std::size_t> stride;
  std::size_t states = 1;
  for (const std::int32_t size : sizes) {
    stride.push_back(states);
    states *= static_cast<std::size_t>(size) + 1;
    if (states > kMost) {
      return Error{Code::kResourceExhausted,
                   "device classes: more than " + std::to_string(kMost) + " combinations of what is left", ""};
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

std::vector<std::int32_t> barrier_counts(std::span<const std::vector<double>> seconds, std::int32_t total) {
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
