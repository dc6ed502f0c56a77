#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lanista/result.h"
#include "lanista/table.h"
#include "lanista/tensor.h"

namespace lanista {

/// Predictions for rows, in their order. They equal those of `lanista predict`.
struct Predictions {
  std::int64_t num_rows = 0;         ///< Number of rows.
  std::vector<std::string> columns;  ///< Names of the numbers of a row: "p_<class>", "prediction", …
  /// Numbers [num_rows, columns]: a probability for each class or label, or numbers in the unit of the targets. For
  /// texts they belong to the last position.
  std::vector<double> values;
  std::vector<std::string> classes;  ///< Name of the most probable class [num_rows]; empty without classes.
  /// Names of rows, such as file names [num_rows]; empty: the source has no names.
  std::vector<std::string> row_names;
  std::vector<std::string> warnings;  ///< Notes of the reader for people, such as on cells without a value.
};

/// A trained model, or an ensemble, from a model package.
///
/// It computes with the kernels of the study in the order of the study, so its numbers equal those of the study. Copies
/// share the weights. One thread at a time for all copies of a model.
class Model {
 public:
  /// Loads a model package such as `best/`, the best model of a study folder, or trial N of a study as "FOLDER#N" if
  /// its weights were kept. Errors: kNotFound, kDataLoss (files that are damaged or do not belong together),
  /// kFailedPrecondition (a newer version wrote it), kUnimplemented (an operator without a kernel, by name).
  static Result<Model> load(const std::string& folder);

  /// Returns the names of the classes or labels, by index; empty if targets are numbers, or if the data set has no
  /// names.
  const std::vector<std::string>& class_names() const;
  /// Returns the shape of one sample without the batch, such as [64] or [1, 8, 8].
  const std::vector<std::int64_t>& feature_shape() const;
  /// Returns the number of outputs of the model for one sample: classes, labels or numbers.
  std::int64_t num_outputs() const;
  /// Returns the metrics in the package by name: of the validation part as "val_…", and of the test part as "test_…" if
  /// it was measured.
  std::map<std::string, double> metrics() const;

  /// Returns predictions for the rows of a table. Columns are found by name, other columns are ignored. Missing values
  /// and unknown categories follow the rules of training. Errors: kInvalidArgument (a malformed table), kDataLoss (a
  /// column is missing or a cell does not fit).
  Result<Predictions> predict(const Table& rows) const;
  /// Returns predictions for raw samples, float32 [rows, feature_shape]. They are normalised as in training. Errors:
  /// kInvalidArgument (a model of a table), kDataLoss (another shape).
  Result<Predictions> predict(const Tensor& samples) const;
  /// Returns predictions for the rows of a file, a folder of images, or a source as in a study file, such as
  /// "npy:x.npy". Errors: those of reading the source.
  Result<Predictions> predict_source(const std::string& source) const;
  /// Returns the loss and all metrics for the task, by name without a prefix, of predictions for a source that has
  /// targets. Errors: kInvalidArgument (no targets), those of reading the source.
  Result<std::map<std::string, double>> evaluate_source(const std::string& source) const;

  /// Returns copies of the parameters and buffers, sorted by name. In an ensemble the names begin with "m1.", "m2.", …
  std::vector<Tensor> weights() const;
  /// Returns the model as the bytes of an ONNX file, from raw features to predictions. Errors: kUnimplemented (an
  /// operator without an ONNX form, by name).
  Result<std::string> onnx() const;
  /// Returns the weights as the bytes of a safetensors file.
  Result<std::string> safetensors() const;
  /// Returns the model as C++ source text without dependencies, from raw features to predictions. Errors:
  /// kUnimplemented (an operator without a C++ form, by name).
  Result<std::string> cpp_source() const;

 private:
  struct State;
  explicit Model(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace lanista
