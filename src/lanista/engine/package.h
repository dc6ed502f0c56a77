#pragma once

#include <map>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/data/dataset.h"
#include "lanista/graph/graph.h"
#include "lanista/graph/op.h"
#include "lanista/study/view.h"

namespace lanista::engine {

/// A trained model with all that predictions need.
struct ModelPackage {
  graph::Graph model;
  std::vector<Tensor> weights;  ///< parameters and buffers, sorted by name
  data::DataSpec data;
  std::string loss, precision;       ///< as in a recipe
  std::vector<std::string> metrics;  ///< as in the study file
  nlohmann::json facts;              ///< package.json: also where it comes from and how good it is
};

/// The package of a trial: `data` are the study's, of which a training of a fold sees its own; `state` is what its trainer saved (optimiser slots are left out), `test` what it reached on
/// the test part, empty if that was not measured.
ModelPackage make_package(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                          const study::Recipe& recipe, graph::Graph model, std::vector<Tensor> state,
                          const std::map<std::string, double>& test);

/// Writes model.graph, weights.safetensors, model.onnx, package.json. The same package gives the same bytes. A model
/// that ONNX cannot express has no model.onnx; package.json says why. Errors: kIo, kResourceExhausted.
Result<void> write_package(FileSystem& fs, const std::string& folder, const ModelPackage& package);

/// Errors: kNotFound (no package), kDataLoss (files that are damaged or do not belong together), kFailedPrecondition
/// (written by a newer version).
Result<ModelPackage> read_package(FileSystem& fs, const std::string& folder, const graph::OpTable& ops);

/// The model in ONNX, from raw numbers to predictions in the targets' own unit, normalisation inside. Errors:
/// kUnimplemented (an operator that has no mapping, by name).
Result<std::string> package_onnx(const ModelPackage& package);

/// The same as C++ source. Errors: those of formats::to_cpp.
Result<std::string> package_cpp(const ModelPackage& package);

}  // namespace lanista::engine
