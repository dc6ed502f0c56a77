#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/engine/core/package.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/inference/assessment.h"
#include "lanista/io/formats/onnx/onnx_import.h"

namespace lanista::inference {

/// A model package that is ready to predict on the CPU: one model, or several with blended predictions. One thread at a
/// time.
///
/// Studies of the CPU's numeric class use the same kernels in the same order. Then the numbers are equal to the
/// study's. They may differ by rounding for other classes, such as the batched backend.
class Predictor {
 public:
  /// Prepares a package: compiles its models for the CPU backend at level `isa`. `operators` are the caller's own
  /// operators. Errors: kDataLoss (weights or outputs that do not fit the model or the data, a loss that does not fit
  /// the data), kUnimplemented (an operator without a kernel, by name).
  static Result<Predictor> create(const engine::ModelPackage& package, kernels::Isa isa = kernels::best_isa(),
                                  const program::Operators& operators = {});
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;
  ~Predictor();

  /// Number of values in the prediction of one row: logits of classes (at every position) or of labels, or targets.
  std::int64_t outputs() const;
  /// Predictions [rows, outputs()] of features [rows, …], both flattened; a partial row is a bug of the caller.
  /// Features are as data::read_raw returns them: normalised, or raw if members have their own normalisation. Numeric
  /// predictions are in the unit of the targets. They lack DataSpec::target_origin, which prediction_values() adds.
  std::vector<double> predict(std::span<const float> features);
  /// Rates flattened predictions [rows, outputs()]. `labels` (classes) or `targets` (numbers and multilabel) is empty,
  /// depending on the task. Targets are in their own unit less their origin, as data::read_raw returns them. The loss
  /// is that of training.
  Assessment assess(std::span<const double> predictions, std::span<const std::int32_t> labels,
                    std::span<const float> targets) const;

 private:
  struct Impl;
  explicit Predictor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Runs an imported model on raw inputs [n, features...], float32 or integers. float64 is allowed if the file has
/// origins. The result is a tensor [n, ...] of float32, or of float64 if the output has origins. Numeric targets are in
/// their own unit. Errors: kInvalidArgument (an input of another shape or type, or without rows), kDataLoss and
/// kUnimplemented as Predictor::create.
Result<Tensor> run_imported(const formats::ImportedModel& model, const Tensor& input);

/// Compares an ONNX file (`onnx` is its content) with the package's model on `samples` seeded inputs. The result is the
/// largest value, over all samples, of d / (1 + p). d is the largest |difference| of an output of the sample, and p is
/// the largest |prediction| of the package. Standardised targets are compared in units of their standard deviation.
/// Outputs of one sample are sums of the same hidden values, so they have similar rounding errors.
///
/// Errors: those of decoding the file and of Predictor::create (kDataLoss, kUnimplemented), kDataLoss (another number
/// of outputs, or a NaN or infinity on one side only).
Result<double> onnx_difference(const engine::ModelPackage& package, std::string_view onnx, std::int64_t samples);

}  // namespace lanista::inference
