#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lanista/base/thread_cpu_time.h"

namespace lanista::bench {

/// One of the compared ways to do the work of a case.
struct Arm {
  std::string name;             ///< As printed.
  std::function<double()> run;  ///< Does the whole work once and returns the measured value, such as seconds a step.
};

/// The result of one arm in one case.
struct BenchRow {
  std::string bench, case_name, arm, unit;
  double value = 0;   ///< Median over repeats.
  double spread = 0;  ///< (third quartile - first quartile) / median.
  int repeats = 0;    ///< Number of measurements.
};

/// The number of calls a second, measured over `seconds` seconds or one call.
///
/// A warm-up of a tenth of that time comes first. If its first call needs all of `seconds`, it is the measurement. Sets
/// flush-to-zero on the calling thread.
double calls_per_second(const std::function<void()>& call, double seconds);

/// The seconds that one measurement of an arm runs.
inline constexpr double kSampleSeconds = 0.04;

/// Work that a thread repeats.
struct RepeatedWork {
  std::function<void()> call;  ///< The work.
  double models = 1;           ///< Model-steps of one call.
};

/// An arm that gives microseconds a model-step. It runs `works` at the same time, each on a thread of its own.
Arm timed(std::string name, std::vector<RepeatedWork> works);

/// The values of all arms, [arm][round].
///
/// The arms run in turn. Each round starts with another arm, so that the order gives no arm an advantage.
std::vector<std::vector<double>> run_rounds(const std::vector<Arm>& arms, int repeats);

/// Runs rounds as run_rounds() does and gives one row for each arm.
std::vector<BenchRow> run_interleaved(const std::string& bench, const std::string& case_name, const std::string& unit,
                                      const std::vector<Arm>& arms, int repeats);

/// The row with the median and the spread of `values`.
BenchRow summary(std::string bench, std::string case_name, std::string arm, std::string unit,
                 const std::vector<double>& values);

/// The low end of the 95 % interval of the median.
///
/// It is an order statistic, so it holds for any distribution.
double median_lower_bound(std::vector<double> values);

/// Two rows that compare `arm` with the best of the arms for which `is_other` is true.
///
/// Row "<what>/<arm>" is the median of the quotients other / arm round by round, because two arms of one round run on
/// the machine in the same condition. Above 1, `arm` is faster. Row "<what>/<arm>-low" is the low end of its 95 %
/// interval. `values` come from run_rounds(). No rows if no arm is another.
std::vector<BenchRow> compare_to_best(const std::string& bench, const std::string& case_name, const std::string& what,
                                      const std::string& arm, const std::vector<Arm>& arms,
                                      const std::vector<std::vector<double>>& values,
                                      const std::function<bool(const std::string&)>& is_other);

/// Prints a row as aligned text or as one JSON object.
void print(const BenchRow& row, bool json, std::ostream& out);

/// Prints a row of an arm without a value, with the status ("skipped" or "failed") and the reason.
void print_missing(const BenchRow& row, const std::string& status, const std::string& reason, bool json,
                   std::ostream& out);

/// Number of cores of this machine, at least one.
std::int64_t host_cores();

/// The time of a monotonic clock in seconds.
double now_seconds();

using lanista::thread_cpu_seconds;

}  // namespace lanista::bench
