#include "lanista/bench/arms.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <ostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "lanista/kernels/kernels.h"

namespace lanista::bench {
namespace {

constexpr double kSampleSeconds = 0.15;

double calls_per_second(const std::function<void()>& step, double seconds) {
  const double begin = now_seconds();
  double elapsed = 0;
  std::int64_t calls = 0;
  for (; elapsed < seconds; ++calls) {
    step();
    elapsed = now_seconds() - begin;
  }
  return static_cast<double>(calls) / elapsed;
}

double measured_rate(const std::function<void()>& step) {
  kernels::set_flush_to_zero();
  calls_per_second(step, kSampleSeconds / 10);
  return calls_per_second(step, kSampleSeconds);
}

// Linear interpolation between order statistics.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

Arm timed(std::string name, double models, std::vector<std::function<void()>> steps) {
  return {std::move(name), [models, steps = std::move(steps)] {
            std::vector<double> rates(steps.size());
            {
              std::vector<std::jthread> helpers;
              for (std::size_t i = 1; i < steps.size(); ++i) {
                helpers.emplace_back([&, i] { rates[i] = measured_rate(steps[i]); });
              }
              rates[0] = measured_rate(steps[0]);
            }
            return 1e6 / (models * std::accumulate(rates.begin(), rates.end(), 0.0));
          }};
}

std::vector<Row> interleave(const std::string& bench, const std::string& case_name, const std::string& unit,
                            const std::vector<Arm>& arms, int repeats) {
  std::vector<std::vector<double>> values(arms.size());
  for (int round = 0; round < repeats; ++round) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const std::size_t arm = (i + static_cast<std::size_t>(round)) % arms.size();
      values[arm].push_back(arms[arm].run());
    }
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const double median = quantile(values[i], 0.5);
    const double spread = (quantile(values[i], 0.75) - quantile(values[i], 0.25)) / median;
    rows.push_back({bench, case_name, arms[i].name, unit, median, spread, repeats});
  }
  return rows;
}

void print(const Row& row, bool json, std::ostream& out) {
  if (json) {
    out << nlohmann::json{{"bench", row.bench}, {"case", row.case_name},  {"arm", row.arm},      {"value", row.value},
                          {"unit", row.unit},   {"repeats", row.repeats}, {"spread", row.spread}}
               .dump()
        << "\n";
    return;
  }
  char runs[60] = "";
  if (row.repeats > 1) {  // of one value there is no spread
    std::snprintf(runs, sizeof runs, " (%d repeats, spread %.1f%%)", row.repeats, 100 * row.spread);
  }
  char text[240];
  std::snprintf(text, sizeof text, "%-12s %-20s %-11s %12.3f %-10s%s\n", row.bench.c_str(), row.case_name.c_str(),
                row.arm.c_str(), row.value, row.unit.c_str(), runs);
  out << text;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lanista::bench
