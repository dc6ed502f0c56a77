#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/engine/core/package.h"

namespace lanista::cli {

struct PredictRequest {
  std::string model;  ///< a model package, or a study's folder: its best model
  std::string input;  ///< raw data: a file, a folder, or a source as in a study file
  std::string out;    ///< empty: stdout
};
struct EvalRequest {
  std::string model, input;
  bool json = false;
};
struct ExportRequest {
  std::string target;  ///< DIR, or DIR#TRIAL for a model whose weights were kept
  std::string onnx, safetensors, cpp, package, tensorboard, optuna, csv, measurements, jsonl, trace;
  bool all = false;           ///< TensorBoard: all trials, not the best 200
  std::int64_t ensemble = 0;  ///< the model is an ensemble of the kept trials, of so many draws at most; 0: it is not
};

// Each prints what it wrote and gives the exit code.
int predict(const PredictRequest& request);
int evaluate(const EvalRequest& request);
int export_study(const ExportRequest& request);

/// Reads a package's ONNX file back and compares it with the model. The largest relative difference; nullopt if there
/// is no ONNX file. Errors: kInternal (they differ by more than 1e-5), those of reading.
Result<std::optional<double>> check_onnx(const std::string& folder);

/// A package from its folder, a study's best one, or of DIR#TRIAL if that trial's weights were kept.
Result<engine::ModelPackage> load_package(const std::string& target);

/// An ensemble of a study's kept trials, chosen on its validation part as keep.ensemble does; says on stderr what it
/// is. Needs the study's data; the test part is not touched. Errors: those of the study, its data and its weights.
Result<engine::ModelPackage> ensemble_of_study(const std::string& folder, std::int64_t max_draws);

}  // namespace lanista::cli
