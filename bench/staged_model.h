#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "lanista/base/result.h"
#include "lanista/engine/local/pass_timing.h"
#include "lanista/exec/pipeline_parallel/pipeline_stages.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/pipeline/schedule.h"

// Models with branches that run as pipelines, and the measured times of their operators.
namespace lanista::bench {

/// Ranks of a pipeline, samples of a batch and of a micro-batch, and classes.
inline constexpr std::int64_t kRanks = 2, kBatch = 256, kMicroBatch = 32, kClasses = 10;
inline constexpr double kTransferSeconds = 20e-6;  ///< Seconds of a transfer between ranks in the simulation.

/// The text of a model with `branches` branches over one input.
///
/// A branch has `layers` linear layers with relu. With `is_sum`, each branch ends in logits and the model adds these.
/// Otherwise the branches are concatenated before a last linear layer.
std::string branchy(std::int64_t inputs, int branches, int layers, std::int64_t width, bool is_sum);

/// Random samples with labels.
struct Samples {
  std::vector<float> features;       ///< [count, width].
  std::vector<std::int32_t> labels;  ///< [count].
  std::vector<std::int64_t> index;   ///< [count], row numbers.

  Samples(std::int64_t count, std::int64_t width);
  /// The samples as one batch; valid while this lives.
  program::Batch view() const;
};

/// A model with its training step and its inference step.
struct DerivedModel {
  graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  autodiff::TrainingStep train;
  autodiff::InferenceStep infer;
  std::int64_t batch = 0;  ///< Samples of a step.

  /// Derives both steps of a model in text form. Errors: those of parsing and deriving.
  static Result<DerivedModel> make(const std::string& text, std::int64_t batch);
  /// Compiles a program with `parts` micro-batches a step. `stages` may be null: no pipeline. Errors: those of
  /// Program::compile.
  Result<program::Program> compile(std::int64_t parts, const program::Stages* stages, std::int64_t lanes = 1,
                                   int threads = 1) const;
};

/// Runs one training step of each lane of `program`.
void step_of(program::Program& program, const program::Batch& batch);

/// The median of `values`, the upper one of two; 0 if there are none.
double median(std::vector<double> values);

/// A model with measured operator times, and its program on one thread.
struct StagedModel {
  DerivedModel derived;
  Samples samples;
  runtime::PlannedModel planned;   ///< Model of the planner, with its nodes.
  pipeline::Problem problem;       ///< Planned model with measured costs, and kRanks devices.
  double non_pass_seconds = 0;     ///< Seconds of a step outside of passes, mainly the update.
  program::Program single_thread;  ///< Whole step with the same micro-batches on one thread.

  /// Derives, compiles and measures a model. Errors: those of planning and compiling.
  static Result<StagedModel> make(const std::string& text, std::int64_t inputs, int repeats);
  /// Measures the times of the operators now. Errors: those of compiling.
  Result<std::vector<runtime::OperatorTimes>> timed_passes(int repeats) const;
  /// Sets the operator times of `problem`. `step` is the measured seconds of a step on one thread.
  void set_pass_costs(const std::vector<runtime::OperatorTimes>& passes, double step);
  /// The simulated seconds of a step of a plan. Errors: those of simulate().
  Result<double> predicted(const runtime::ChosenPlan& of) const;
  /// Compiles a program that runs a plan. Errors: those of compiling.
  Result<program::Program> program(const pipeline::PipelinePlan& plan, const pipeline::Schedule& schedule) const;
  /// An arm that gives microseconds of a step.
  Arm arm(std::string name, program::Program& of) const;
};

}  // namespace lanista::bench
