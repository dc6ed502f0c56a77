#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lanista/exec/program/program.h"

namespace lanista::runtime {

/// Medians of what the lines of a program take.
struct PlanTimes {
  std::vector<double> line_us;  ///< one a line of plan(), the stopwatch's own price taken off
  double step_us = 0;           ///< a whole step of one lane, with the way of the batch into the program
  std::int64_t samples = 0;     ///< rounds measured
};

/// Times every line in turn, as it runs inside a step, for about `seconds` (at least three rounds) on the calling
/// thread, at a learning rate of zero. Lane 0 of the program does not stay as it was. `now` reads a stopwatch in
/// microseconds; without one, the machine's.
PlanTimes time_plan(nn::Program& program, const nn::Batch& batch, double seconds,
                    const std::function<double()>& now = {});

/// A batch as a step wants it where no data is at hand; the time of a step does not depend on the numbers.
class SyntheticBatch {
 public:
  /// Features are uniform in [-1, 1), tokens and labels zero.
  SyntheticBatch(const step::TrainingStep& step, std::int64_t size);
  nn::Batch view() const { return {size_, features_, labels_, targets_, sample_index_}; }

 private:
  std::int64_t size_;
  std::vector<float> features_, targets_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> sample_index_;
};

}  // namespace lanista::runtime
