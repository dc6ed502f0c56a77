#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace lanista::bench {

/// One way to do a case's work. `run` does the whole work once and returns the value measured (seconds a step, say).
struct Arm {
  std::string name;
  std::function<double()> run;
};

/// What came out of one arm of one case.
struct Row {
  std::string bench, case_name, arm, unit;
  double value = 0;   ///< median over repeats
  double spread = 0;  ///< (third quartile - first quartile) / median
  int repeats = 0;
};

/// Microseconds a model-step: each of `steps` is called again and again for a moment (after a tenth of that to warm
/// up), on a thread of its own if there are several, and a call makes `models` model-steps.
Arm timed(std::string name, double models, std::vector<std::function<void()>> steps);

/// Runs the arms in turn, `repeats` rounds; a round starts with another arm each time, so that no arm profits from its
/// place.
std::vector<Row> interleave(const std::string& bench, const std::string& case_name, const std::string& unit,
                            const std::vector<Arm>& arms, int repeats);

/// A row as text (aligned) or as one JSON object.
void print(const Row& row, bool json, std::ostream& out);

/// Seconds of a monotonic clock.
double now_seconds();

}  // namespace lanista::bench
