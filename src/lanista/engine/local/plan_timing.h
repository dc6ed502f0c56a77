#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"

namespace lanista::runtime {

/// Median times of the lines of a program, which are its kernel calls.
struct PlanTimes {
  /// Microseconds of each line of Program::plan(), in order, without the cost of the timer.
  std::vector<double> line_us;
  double step_us = 0;        ///< Microseconds of a whole training step of one lane, with the copy of the batch.
  std::int64_t samples = 0;  ///< Number of measured rounds; each gives one time of every line and of the step.
};

/// Times each line inside a step, and whole steps, for about `seconds`. It measures 3 to 1,000 rounds on the calling
/// thread, at a learning rate of zero. The state of lane 0 changes. `now` reads a timer in microseconds; empty: the
/// steady clock.
PlanTimes time_plan(program::Program& program, const program::Batch& batch, double seconds,
                    const std::function<double()>& now = {});

/// The training step of a model, and the measured times of its program.
struct TimedProgram {
  autodiff::TrainingStep train;          ///< The step.
  std::vector<program::PlanLine> lines;  ///< Kernel calls of the program (Program::plan()).
  std::int64_t bytes = 0;                ///< Memory of one lane, in bytes.
  PlanTimes times;                       ///< Times of the lines.
};
/// Compiles the training step and the inference step of a model, and times them on made-up data for about `seconds`,
/// in batches of `batch` samples. `ops` has the operators of models. Errors: those of deriving and compiling the steps.
Result<TimedProgram> timed_program(const graph::Graph& model, const graph::OpTable& ops,
                                   const autodiff::StepOptions& step, const program::ProgramOptions& options,
                                   std::int64_t batch, double seconds);

/// A batch of made-up data for timing, the same on each call. The time of a step does not depend on the values.
class SyntheticBatch {
 public:
  /// A batch of `size` samples in the shapes of the step. Real features and targets are uniform in [-1, 1); tokens and
  /// labels are zero.
  SyntheticBatch(const autodiff::TrainingStep& step, std::int64_t size);
  /// The batch. It refers to the memory of this object, which must outlive it.
  program::Batch view() const { return {size_, features_, labels_, targets_, sample_index_}; }

 private:
  std::int64_t size_;
  std::vector<float> features_, targets_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> sample_index_;
};

}  // namespace lanista::runtime
