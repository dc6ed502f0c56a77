#include "bench/arms.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <ostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "lanista/exec/kernels/kernels.h"

namespace lanista::bench {
namespace {

// Calls a second over `seconds` seconds or one call.
double measured_rate(const std::function<void()>& call, double seconds) {
  const double begin = now_seconds();
  double elapsed = 0;
  std::int64_t calls = 0;
  for (; elapsed < seconds || calls == 0; ++calls) {
    call();
    elapsed = now_seconds() - begin;
  }
  return static_cast<double>(calls) / elapsed;
}

// The quantile `q` by linear interpolation between order statistics.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

double calls_per_second(const std::function<void()>& call, double seconds) {
  kernels::set_flush_to_zero();
  const double first = measured_rate(call, seconds / 10);
  return first * seconds <= 1 ? first : measured_rate(call, seconds);
}

Arm timed(std::string name, std::vector<RepeatedWork> works) {
  return {std::move(name), [works = std::move(works)] {
            std::vector<double> rates(works.size());
            const auto measure = [&](std::size_t i) {
              rates[i] = works[i].models * calls_per_second(works[i].call, kSampleSeconds);
            };
            {
              std::vector<std::jthread> helpers;
              for (std::size_t i = 1; i < works.size(); ++i) helpers.emplace_back(measure, i);
              measure(0);
            }
            return 1e6 / std::accumulate(rates.begin(), rates.end(), 0.0);
          }};
}

BenchRow summary(std::string bench, std::string case_name, std::string arm, std::string unit,
                 const std::vector<double>& values) {
  const double median = quantile(values, 0.5);
  const double spread = (quantile(values, 0.75) - quantile(values, 0.25)) / median;
  return {std::move(bench), std::move(case_name),           std::move(arm), std::move(unit), median,
          spread,           static_cast<int>(values.size())};
}

// The number of values below the true median has the distribution Binomial(n, 1/2). The result is the largest order
// statistic that is above the median with a probability of at most 2.5 %.
double median_lower_bound(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double term = std::pow(0.5, n), below = term;
  std::size_t k = 0;
  while (below <= 0.025) {
    ++k;
    term *= (n - static_cast<double>(k) + 1) / static_cast<double>(k);
    below += term;
  }
  return values[k > 0 ? k - 1 : 0];
}

std::vector<std::vector<double>> run_rounds(const std::vector<Arm>& arms, int repeats) {
  std::vector<std::vector<double>> values(arms.size());
  for (int round = 0; round < repeats; ++round) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const std::size_t arm = (i + static_cast<std::size_t>(round)) % arms.size();
      values[arm].push_back(arms[arm].run());
    }
  }
  return values;
}

std::vector<BenchRow> run_interleaved(const std::string& bench, const std::string& case_name, const std::string& unit,
                                      const std::vector<Arm>& arms, int repeats) {
  const auto values = run_rounds(arms, repeats);
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    rows.push_back(summary(bench, case_name, arms[i].name, unit, values[i]));
  }
  return rows;
}

std::vector<BenchRow> compare_to_best(const std::string& bench, const std::string& case_name, const std::string& what,
                                      const std::string& arm, const std::vector<Arm>& arms,
                                      const std::vector<std::vector<double>>& values,
                                      const std::function<bool(const std::string&)>& is_other) {
  const auto at = std::ranges::find(arms, arm, &Arm::name) - arms.begin();
  const std::vector<double>& ours = values[static_cast<std::size_t>(at)];
  std::vector<BenchRow> best;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (!is_other(arms[i].name)) continue;
    std::vector<double> quotients;
    for (std::size_t round = 0; round < ours.size(); ++round) quotients.push_back(values[i][round] / ours[round]);
    const BenchRow row = summary(bench, case_name, what + "/" + arm, "x", quotients);
    if (!best.empty() && row.value >= best.front().value) continue;
    best = {row, {bench, case_name, what + "/" + arm + "-low", "x", median_lower_bound(quotients), 0, 1}};
  }
  return best;
}

void print_missing(const BenchRow& row, const std::string& status, const std::string& reason, bool json,
                   std::ostream& out) {
  if (json) {
    const auto dump = nlohmann::json{
        {"bench", row.bench}, {"case", row.case_name}, {"arm", row.arm}, {"status", status}, {"reason", reason}};
    out << dump.dump() << "\n";
    return;
  }
  char text[120];
  std::snprintf(text, sizeof text, "%-12s %-20s %-12s ", row.bench.c_str(), row.case_name.c_str(), row.arm.c_str());
  out << text << status << ": " << reason << "\n";
}

void print(const BenchRow& row, bool json, std::ostream& out) {
  if (json) {
    out << nlohmann::json{{"bench", row.bench}, {"case", row.case_name},  {"arm", row.arm},      {"value", row.value},
                          {"unit", row.unit},   {"repeats", row.repeats}, {"spread", row.spread}}
               .dump()
        << "\n";
    return;
  }
  char runs[60] = "";
  if (row.repeats > 1) {  // a single value has no spread
    std::snprintf(runs, sizeof runs, " (%d repeats, spread %.1f%%)", row.repeats, 100 * row.spread);
  }
  char text[240];
  std::snprintf(text, sizeof text, "%-12s %-20s %-12s %12.*f %-10s%s\n", row.bench.c_str(), row.case_name.c_str(),
                row.arm.c_str(), row.unit == "bytes" ? 0 : 3, row.value, row.unit.c_str(), runs);
  out << text;
}

std::int64_t host_cores() { return std::max<std::int64_t>(1, std::thread::hardware_concurrency()); }

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lanista::bench
