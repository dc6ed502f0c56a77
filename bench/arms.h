#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lanista/base/thread_cpu_time.h"

namespace lanista::bench {

/// One way to do a case's work. `run` does the whole work once and returns the value measured (seconds a step, say).
struct Arm {
  std::string name;
  std::function<double()> run;
};

/// What came out of one arm of one case.
struct BenchRow {
  std::string bench, case_name, arm, unit;
  double value = 0;   ///< median over repeats
  double spread = 0;  ///< (third quartile - first quartile) / median
  int repeats = 0;
};

/// Calls a second over `seconds`, of one call at least, after a tenth of that to warm up; with flush-to-zero set. A
/// first call that takes all of that time is the sample itself.
double calls_per_second(const std::function<void()>& call, double seconds);
/// What a sample of an arm takes.
inline constexpr double kSampleSeconds = 0.04;

/// What a thread does again and again; a call makes `models` model-steps.
struct RepeatedWork {
  std::function<void()> call;
  double models = 1;
};

/// Microseconds a model-step of works that run side by side, a thread each.
Arm timed(std::string name, std::vector<RepeatedWork> works);

/// What each arm gave in each round, [arm][round]: the arms run in turn, and a round starts with another arm each time,
/// so that no arm profits from its place.
std::vector<std::vector<double>> run_rounds(const std::vector<Arm>& arms, int repeats);

/// The same as rows.
std::vector<BenchRow> run_interleaved(const std::string& bench, const std::string& case_name, const std::string& unit,
                                      const std::vector<Arm>& arms, int repeats);

/// Median and spread of an arm's values.
BenchRow summary(std::string bench, std::string case_name, std::string arm, std::string unit,
                 const std::vector<double>& values);

/// Of the median, with 95 % confidence: an order statistic, whatever the values' distribution is.
double median_lower_bound(std::vector<double> values);

/// How an arm stands against the best of others: the median of their quotients round by round (two arms of one round
/// see the same machine), row "<what>/<arm>", and the low end of its 95 % interval, row "<what>/<arm>-low".
std::vector<BenchRow> compare_to_best(const std::string& bench, const std::string& case_name, const std::string& what,
                                      const std::string& arm, const std::vector<Arm>& arms,
                                      const std::vector<std::vector<double>>& values,
                                      const std::function<bool(const std::string&)>& is_other);

/// A row as text (aligned) or as one JSON object.
void print(const BenchRow& row, bool json, std::ostream& out);
/// The same for an arm that gave no value: `status` ("skipped", "failed") and why.
void print_missing(const BenchRow& row, const std::string& status, const std::string& reason, bool json,
                   std::ostream& out);

/// Of this machine, at least one.
std::int64_t host_cores();
/// Seconds of a monotonic clock.
double now_seconds();
using lanista::thread_cpu_seconds;

}  // namespace lanista::bench
