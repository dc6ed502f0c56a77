#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/engine/core/package.h"

namespace lanista::cli {

/// Options of `predict`.
struct PredictRequest {
  std::string model;  ///< Model package, or study folder for its best model.
  std::string input;  ///< New data: a file, a folder, or a source as in a study file.
  std::string out;    ///< CSV file; empty: stdout.
};
/// Options of `eval`.
struct EvalRequest {
  std::string model;  ///< Model package, or study folder for its best model.
  std::string input;  ///< Data with targets: a file, a folder, or a source as in a study file.
  bool json = false;  ///< True: print JSON.
};
/// Options of `export`. At least one output must be set.
struct ExportRequest {
  std::string target;  ///< DIR, DIR#TRIAL for a trial with kept weights, or a model package (model formats only).
  /// Output files, and for `package` and `tensorboard` new or empty folders; empty: not written.
  std::string onnx, safetensors, cpp, package, tensorboard, optuna, csv, measurements, jsonl, trace;
  bool all = false;           ///< True: TensorBoard gets all trials instead of the best 200.
  std::int64_t ensemble = 0;  ///< Most selections of an ensemble of kept trials; 0: the model of `target`.
};

/// Predicts on new data and writes CSV. On stdout control characters are escaped. For a text it writes the prediction
/// of the next token. Returns the exit code.
int predict(const PredictRequest& request);
/// Prints the metrics of a model on data with targets. Rows without a target are left out, with a note on stderr.
/// Returns the exit code.
int evaluate(const EvalRequest& request);
/// Writes a model or a study in the requested formats. Returns the exit code.
int export_study(const ExportRequest& request);

/// Reads model.onnx of a package and compares its outputs on 64 samples with those of the model. Returns the largest
/// relative difference of the outputs, or nullopt if the package has no ONNX file. Errors: kInternal (the difference
/// exceeds 1e-5), those of reading.
Result<std::optional<double>> check_onnx(const std::string& folder);

/// Returns the model package in a folder, that of the best model of a study folder, or that of DIR#TRIAL. Errors:
/// kNotFound (the weights of the trial were not kept, or the study has no best model yet), kInvalidArgument (a file),
/// those of reading.
Result<engine::ModelPackage> load_package(const std::string& target);

/// Returns an ensemble of the kept trials of a study, selected on the validation part as for keep.ensemble. Prints its
/// members on stderr. `max_selections` limits the number of selections. It reads the study's data, but not the test
/// part. Errors: those of the study, its data and its weights.
Result<engine::ModelPackage> ensemble_of_study(const std::string& folder, std::int64_t max_selections);

}  // namespace lanista::cli
