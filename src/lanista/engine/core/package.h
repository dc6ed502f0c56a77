#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/blend.h"
#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/engine/core/executor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// One trained model of a package.
struct ModelMember {
  graph::Graph model;           ///< Its graph.
  std::vector<Tensor> weights;  ///< Parameters and buffers, sorted by name.
  std::string precision;        ///< As in a recipe.
  double share = 1;             ///< Share of the package's prediction; shares sum to 1.
  /// How a member converts raw features before the model, and its outputs after it.
  struct Preprocessing {
    data::Normalization features;                ///< Normalisation of the features.
    std::optional<data::Normalization> targets;  ///< Normalisation of the targets, if they are numbers.
    std::vector<double> missing = {};            ///< Value for NaN, one for each feature; empty: NaN stays.
    std::vector<std::size_t> unseen = {};        ///< Features set to zero, because no training row has them.
    bool operator==(const Preprocessing&) const = default;
  };
  /// The member's own conversion, if members were trained on different rows (folds). The package's data then have no
  /// fitted statistics (data/unfitted.h).
  std::optional<Preprocessing> own_preprocessing = {};
};

/// One trained model, or several with blended predictions, with everything that predictions need.
struct ModelPackage {
  std::vector<ModelMember> members;  ///< At least one.
  data::DataSpec data;               ///< Description of the data.
  std::string loss;                  ///< As in a recipe.
  std::vector<std::string> metrics;  ///< As in the study file.
  nlohmann::json facts;              ///< Content of package.json, with origin and metrics.

  /// How the members' predictions are blended.
  Blend blend() const { return blend_of(data); }
  /// The members' shares, in order.
  std::vector<double> shares() const;
  /// The conversion of a member: its own, or that of the package's data.
  ModelMember::Preprocessing preprocessing_of(const ModelMember& member) const;
  /// All weights for one file. With several members the names begin with "m1.", "m2.", ….
  std::vector<Tensor> tensors() const;
};

/// The package of one trial. `data` describes the study's data; a training of a fold gets its own part of it. `state`
/// is the state that the trainer saved; optimiser slots are left out. `test` has the metrics on the test part; empty:
/// not measured.
ModelPackage make_package(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                          const study::Recipe& recipe, graph::Graph model, std::vector<Tensor> state,
                          const std::map<std::string, double>& test);

/// One package of several packages with one model each, all from one study with the data `of_study`. `validation` and
/// `test` have the metrics of the blend; empty: not measured. With folds each member keeps its own normalisation. A
/// single package is returned unchanged.
ModelPackage blend_packages(std::vector<ModelPackage> packages, std::span<const double> shares,
                            const data::DataSpec& of_study, const std::map<std::string, double>& validation,
                            const std::map<std::string, double>& test);

/// Writes a package: model.graph, weights.safetensors, model.onnx and package.json. With several members,
/// members/1.graph, members/1.safetensors, … replace the first two files. Equal packages give equal bytes.
///
/// A model that ONNX cannot express has no model.onnx, and package.json has the reason. Files of an earlier package are
/// removed; other files stay. Nothing is written through a link. Errors: kIo, kResourceExhausted, kDataLoss (a link is
/// in the way).
Result<void> write_package(FileSystem& files, const std::string& folder, const ModelPackage& package);

/// Checks that a package may be written to a user's folder: it is absent, empty, or holds a package. Errors:
/// kAlreadyExists, which names up to three of its files.
Result<void> check_package_folder(FileSystem& fs, const std::string& folder);

/// Reads a package. Errors: kNotFound (no package), kDataLoss (files are damaged or do not belong together),
/// kFailedPrecondition (a newer version wrote it).
Result<ModelPackage> read_package(FileSystem& fs, const std::string& folder, const graph::OpTable& ops);

/// The package as an ONNX model, from raw features to predictions in the unit of the targets, with normalisation
/// inside. Several members become one graph that blends them. Errors: kUnimplemented (an operator without an ONNX form,
/// by name).
Result<std::string> package_onnx(const ModelPackage& package);

/// The package as C++ source, from raw features to predictions in the unit of the targets. Errors: those of
/// formats::to_cpp.
Result<std::string> package_cpp(const ModelPackage& package);

}  // namespace lanista::engine
