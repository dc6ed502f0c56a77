#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/exec/program/lower.h"
#include "lanista/exec/program/program.h"

namespace lanista::program::testing {

/// A model in text form, for tests.
struct TestModel {
  std::string name;  ///< letters, digits and underscores
  std::string text;
  std::string loss = "cross_entropy";  ///< of autodiff::losses()
};

/// Small models that together use every operator. Each operator follows a trained layer, so that its input gradient
/// matters.
std::vector<TestModel> operator_models();
/// The model of that name.
TestModel model_named(std::string_view name);

TestModel small_mlp();  ///< [64] -> 64 relu -> 10
TestModel small_cnn();  ///< [1,8,8] -> conv 16 relu pool -> conv 32 relu pool -> 10

/// A model with its steps.
struct Derived {
  graph::Graph model;
  autodiff::TrainingStep train;
  autodiff::InferenceStep infer;
};
Derived derive(const TestModel& model, const std::string& optimizer = "sgd");

/// The built-in operators of steps, and the fusions of the built-in kernels.
LoweringRules shipped_lowering_rules();

/// A program in which every lane has the state of trial seed 0.
Program compile(const Derived& derived, const ProgramOptions& options);
Program compile_empty(const Derived& derived, const ProgramOptions& options);

/// Owns what a Batch refers to. Values are standard normal, labels and tokens (0 to 11) uniform; the same seed gives
/// the same batch.
struct OwnedBatch {
  std::vector<float> features, targets;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> sample_index;
  std::int64_t size = 0;
  std::vector<float> weights = {};  ///< none, unless a test sets them
  Batch view() const { return {size, features, labels, targets, sample_index, weights}; }
};
OwnedBatch random_batch(const Derived& derived, std::int64_t size, std::uint64_t seed);

/// One step of one lane of a one-lane program.
double step_once(Program& program, const OwnedBatch& batch, const LaneHyper& hyper);

const Tensor& tensor_named(const std::vector<Tensor>& state, std::string_view name);

}  // namespace lanista::program::testing
