#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lanista/exec/program/program.h"

namespace lanista::runtime {

/// Median times of the lines of a program.
struct PlanTimes {
  std::vector<double> line_us;  ///< Microseconds of each line of plan(), without the cost of the timer.
  double step_us = 0;           ///< Microseconds of a whole step of one lane, with the copy of the batch.
  std::int64_t samples = 0;     ///< Measured rounds.
};

/// Times each line inside a step for about `seconds`, at least three rounds, on the calling thread and at a learning
/// rate of zero. The state of lane 0 changes. `now` reads a timer in microseconds; empty: the machine's.
PlanTimes time_plan(nn::Program& program, const nn::Batch& batch, double seconds,
                    const std::function<double()>& now = {});

/// A batch of made-up data for timing. The time of a step does not depend on the values.
class SyntheticBatch {
 public:
  /// Features are uniform in [-1, 1); tokens and labels are zero.
  SyntheticBatch(const step::TrainingStep& step, std::int64_t size);
  /// The batch; it refers to this object.
  nn::Batch view() const { return {size_, features_, labels_, targets_, sample_index_}; }

 private:
  std::int64_t size_;
  std::vector<float> features_, targets_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> sample_index_;
};

}  // namespace lanista::runtime
