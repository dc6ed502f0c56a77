#include "lanista/bench/evaluation_clock.h"

#include <algorithm>
#include <array>

#include "lanista/bench/arms.h"

namespace lanista::bench {

double evaluation_seconds(train::LaneGroup& group, train::TrialRun& run) {
  std::array<double, 5> seconds{};
  for (double& each : seconds) {
    const double start = now_seconds();
    group.evaluate(run, data::Part::kValidation, "");
    each = now_seconds() - start;
  }
  std::ranges::sort(seconds);
  return seconds[2];
}

}  // namespace lanista::bench
