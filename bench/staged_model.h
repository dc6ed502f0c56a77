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

// Branchy models whose stages are really run, and what their operators take here.
namespace lanista::bench {

inline constexpr std::int64_t kRanks = 2, kBatch = 256, kMicroBatch = 32, kClasses = 10;
inline constexpr double kTransferSeconds = 20e-6;  ///< seconds, as the simulation has it

/// `branches` of so many linear layers with relu over one input, whose ends meet side by side (or in a sum) before a
/// last layer.
std::string branchy(std::int64_t inputs, int branches, int layers, std::int64_t width, bool is_sum);

struct Samples {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> index;

  Samples(std::int64_t count, std::int64_t width);
  nn::Batch view() const;
};

/// A model with its steps.
struct DerivedModel {
  graph::OpTable ops = step::training_ops(graph::builtin_ops());
  step::TrainingStep train;
  step::InferenceStep infer;
  std::int64_t batch = 0;

  static Result<DerivedModel> make(const std::string& text, std::int64_t batch);
  Result<nn::Program> compile(std::int64_t parts, const nn::Stages* stages, std::int64_t lanes = 1,
                              int threads = 1) const;
};

void step_of(nn::Program& program, const nn::Batch& batch);
double median(std::vector<double> values);

/// A model, measured; and one thread that does all of it.
struct StagedModel {
  DerivedModel derived;
  Samples samples;
  runtime::PlannedModel planned;
  pipeline::Problem problem;
  double non_pass_seconds = 0;  ///< seconds of a step that are no pass: above all the update
  nn::Program single_thread;

  static Result<StagedModel> make(const std::string& text, std::int64_t inputs, int repeats);
  /// What its operators take now.
  Result<std::vector<runtime::OperatorTimes>> timed_passes(int repeats) const;
  /// From here on they take this by simulation, and a step of one thread so many seconds.
  void set_pass_costs(const std::vector<runtime::OperatorTimes>& passes, double step);
  /// What a step of a plan takes, by simulation.
  Result<double> predicted(const runtime::ChosenPlan& of) const;
  Result<nn::Program> program(const pipeline::PipelinePlan& plan, const pipeline::Schedule& schedule) const;
  /// Microseconds of a step.
  Arm arm(std::string name, nn::Program& of) const;
};

}  // namespace lanista::bench
