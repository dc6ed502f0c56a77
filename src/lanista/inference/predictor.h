#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/package.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/inference/assessment.h"

namespace lanista::runtime {

/// A model package ready to use: of one model, or of several whose predictions it blends. Its numbers are those of the
/// study: the same kernels in the same order. One thread at a time.
class Predictor {
 public:
  /// Errors: kDataLoss (weights that do not fit the model, a loss that does not fit the data), kUnimplemented (an
  /// operator without a kernel, by name).
  static Result<Predictor> create(const engine::ModelPackage& package, kernels::Isa isa = kernels::best_isa(),
                                  const nn::Operators& operators = {});
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;
  ~Predictor();

  /// Numbers of one prediction: logits of the classes (at every position) or labels, or the targets.
  std::int64_t outputs() const;
  /// Predictions [rows, outputs] of features [rows, …] as data::read_raw of the package's data gives them (normalised;
  /// raw, where members bring units of their own), numbers in the targets' own unit.
  std::vector<double> predict(std::span<const float> features);
  /// How good predictions are. `labels` or `targets` is empty, by the task; targets are in their own unit, and the loss
  /// is that of training.
  Assessment assess(std::span<const double> predictions, std::span<const std::int32_t> labels,
                    std::span<const float> targets) const;

 private:
  struct Impl;
  explicit Predictor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What an imported model computes from raw inputs [n, features...], float32 (or class and token numbers of any integer
/// type): [n, ...]. Errors: kInvalidArgument (an input of another shape or type), those of Predictor::create.
Result<Tensor> run_imported(const formats::ImportedModel& model, const Tensor& input);

/// Reads an ONNX file with our own reader, runs it beside the package's model on `samples` seeded inputs, and gives the
/// largest |difference| / (1 + |prediction|) of a sample, each the largest of its outputs, in the targets' deviations
/// where they are standardised: outputs are sums of the same hidden numbers, so a small one beside a large one has the
/// large one's rounding. Errors: those of reading and running it.
Result<double> onnx_difference(const engine::ModelPackage& package, std::string_view onnx, std::int64_t samples);

}  // namespace lanista::runtime
