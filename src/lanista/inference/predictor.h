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

/// A model package that is ready to predict: one model, or several with blended predictions. It runs the study's
/// kernels in the study's order, so its numbers are equal to the study's. One thread at a time.
class Predictor {
 public:
  /// Prepares a package. Errors: kDataLoss (weights that do not fit the model, a loss that does not fit the data),
  /// kUnimplemented (an operator without a kernel, by name).
  static Result<Predictor> create(const engine::ModelPackage& package, kernels::Isa isa = kernels::best_isa(),
                                  const nn::Operators& operators = {});
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;
  ~Predictor();

  /// Numbers in one prediction: logits of classes (at every position) or of labels, or targets.
  std::int64_t outputs() const;
  /// Predictions [rows, outputs] of features [rows, …]. Features are as data::read_raw returns them: normalised, or raw
  /// if members have their own normalisation. Numeric predictions are in the unit of the targets.
  std::vector<double> predict(std::span<const float> features);
  /// Rates predictions [rows, outputs]. `labels` or `targets` is empty, depending on the task. Targets are in their own
  /// unit; the loss is that of training.
  Assessment assess(std::span<const double> predictions, std::span<const std::int32_t> labels,
                    std::span<const float> targets) const;

 private:
  struct Impl;
  explicit Predictor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Runs an imported model on raw inputs [n, features...], float32 (or class and token numbers of any integer type). The
/// result is [n, ...]. Errors: kInvalidArgument (an input of another shape or type), those of Predictor::create.
Result<Tensor> run_imported(const formats::ImportedModel& model, const Tensor& input);

/// Compares an ONNX file with the package's model on `samples` seeded inputs. Returns the largest |difference| / (1 +
/// prediction|), where the prediction is the largest output of the sample. Standardised targets are compared in units
/// of their standard deviation. Outputs of one sample are sums of the same hidden values, so they have similar rounding
/// errors. Errors: those of reading and running the file.
Result<double> onnx_difference(const engine::ModelPackage& package, std::string_view onnx, std::int64_t samples);

}  // namespace lanista::runtime
