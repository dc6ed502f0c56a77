#include "lanista/io/zoo/admission.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

namespace lanista::zoo {
namespace {

constexpr std::size_t kMinModels = 5;
constexpr double kDeviations = 3, kToDeviation = 1.4826;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

std::string admission_refusal(double quality, const std::optional<double>& chance, std::vector<double> others) {
  if (chance && quality <= *chance) {
    return "its quality " + number(quality) + " is no better than chance, " + number(*chance);
  }
  if (others.size() < kMinModels) return "";
  const double middle = median(others);
  for (double& other : others) other = std::abs(other - middle);
  const double deviation = kToDeviation * median(others);
  const double least = middle - kDeviations * deviation;
  if (deviation == 0 || quality >= least) return "";
  return "its quality " + number(quality) + " is far below the task's median " + number(middle) + " (at least " +
         number(least) + " is kept)";
}

std::vector<std::string> surplus_replicas(std::vector<Replica> replicas, std::size_t most) {
  if (replicas.size() <= most) return {};
  const auto better = [](const Replica& a, const Replica& b) {
    return std::tuple(a.quality, a.added) < std::tuple(b.quality, b.added);
  };
  const std::string best = std::ranges::max_element(replicas, better)->id;
  const std::string newest = std::ranges::max_element(replicas, {}, &Replica::added)->id;
  std::ranges::sort(replicas, better);
  std::vector<std::string> out;
  std::size_t left = replicas.size();
  for (const Replica& one : replicas) {
    if (left <= most) break;
    if (one.held || one.id == best || (one.id == newest && most > 1)) continue;
    out.push_back(one.id);
    --left;
  }
  return out;
}

std::vector<std::string> choose_evicted(std::span<const EvictionCandidate> residents, std::int64_t budget) {
  std::vector<bool> stays(residents.size());
  std::vector<double> answered(residents.empty() ? 0 : residents.front().serves.size());
  const auto take = [&](std::size_t k) {
    stays[k] = true;
    budget -= residents[k].bytes;
    for (std::size_t q = 0; q < answered.size(); ++q) answered[q] = std::max(answered[q], residents[k].serves[q]);
  };
  const auto density = [&](std::size_t k) {
    double expected_saving = residents[k].value;
    for (std::size_t q = 0; q < answered.size(); ++q)
      expected_saving += std::max(0.0, residents[k].serves[q] - answered[q]);
    return expected_saving / static_cast<double>(std::max<std::int64_t>(residents[k].bytes, 1));
  };
  for (std::size_t k = 0; k < residents.size(); ++k) {
    if (residents[k].held) take(k);
  }
  // Gains only fall as the set grows. So a gain that is still the largest after a new computation is the largest.
  using Entry = std::pair<double, std::size_t>;
  const auto behind = [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(behind)> queue(behind);
  for (std::size_t k = 0; k < residents.size(); ++k) {
    if (!stays[k]) queue.emplace(density(k), k);
  }
  while (!queue.empty()) {
    const std::size_t k = queue.top().second;
    queue.pop();
    if (residents[k].bytes > budget) continue;
    const double now = density(k);
    if (!queue.empty() && behind(Entry{now, k}, queue.top())) {
      queue.emplace(now, k);
      continue;
    }
    take(k);
  }
  std::vector<std::string> out;
  for (std::size_t k = 0; k < residents.size(); ++k) {
    if (!stays[k]) out.push_back(residents[k].id);
  }
  return out;
}

}  // namespace lanista::zoo
