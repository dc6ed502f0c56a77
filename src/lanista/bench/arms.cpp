#include "lanista/bench/arms.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ostream>

#include <nlohmann/json.hpp>

namespace lanista::bench {
namespace {

// Linear interpolation between order statistics.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

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
  char text[200];
  std::snprintf(text, sizeof text, "%-12s %-18s %-10s %12.3f %-10s (%d repeats, spread %.1f%%)\n", row.bench.c_str(),
                row.case_name.c_str(), row.arm.c_str(), row.value, row.unit.c_str(), row.repeats, 100 * row.spread);
  out << text;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lanista::bench
