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
  graph::Graph model;           ///< The whole graph, its frozen part included.
  std::vector<Tensor> weights;  ///< All parameters and buffers, sorted by name.
  std::string precision;        ///< Recipe::precision of its training.
  double share = 1;             ///< Weight of its predictions in those of the package, above 0; shares sum to 1.
  /// How a member converts raw features before the model, and the model's outputs after it.
  struct Preprocessing {
    data::Normalization features;  ///< Normalisation of the features, fitted on the training rows.
    /// Normalisation of numeric targets, which is undone on outputs; absent: outputs are the predictions.
    std::optional<data::Normalization> targets;
    std::vector<double> missing = {};  ///< Value that replaces NaN, one for each feature; empty: NaN stays.
    /// Indices of features that are set to zero, because no training row has them.
    std::vector<std::size_t> unseen = {};
    bool operator==(const Preprocessing&) const = default;
  };
  /// The member's own conversion, if the members were trained on different rows (folds). The package's `data` then have
  /// no fitted statistics except target_normalization. Absent: that of `data`.
  std::optional<Preprocessing> own_preprocessing = {};
};

/// One trained model, or several with blended predictions, with everything that predictions need.
struct ModelPackage {
  std::vector<ModelMember> members;  ///< At least one; the first is the winner of the study.
  data::DataSpec data;               ///< Description of the data.
  std::string loss;                  ///< Name of the loss of training, as in a recipe.
  std::vector<std::string> metrics;  ///< Names of the metrics of the study, as in its study file.
  /// Content of package.json: `study`, `task`, `data`, `metrics` and more. One model has `trial`, `recipe`, `sample`
  /// and `graph_hash` there too; several models have them in the array `members`. write_package() adds `schema` and
  /// `version`.
  nlohmann::json facts;

  /// How the members' predictions are blended.
  Blend blend() const { return blend_of(data); }
  /// The share of each member, in order.
  std::vector<double> shares() const;
  /// The conversion that a member uses: its own, or that of the package's data.
  ModelMember::Preprocessing preprocessing_of(const ModelMember& member) const;
  /// The conversion of a member for stored features, which lack data.origin. Its targets lack data.target_origin.
  ModelMember::Preprocessing stored_preprocessing_of(const ModelMember& member) const;
  /// All weights, as one ONNX or C++ file holds them. With several members the names begin with "m1.", "m2.", ….
  std::vector<Tensor> tensors() const;
};

/// The package of one trial. `data` describes the study's data; a training of a fold gets the statistics of its fold.
/// `state` is the state that the trainer saved, with the frozen part; optimiser state is left out. `test` has the
/// metrics on the test part; empty: not measured.
ModelPackage make_package(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                          const study::Recipe& recipe, graph::Graph model, std::vector<Tensor> state,
                          const std::map<std::string, double>& test);

/// One package with the models of several packages of one study, blended by `shares` (one for each package, sum 1).
/// Each package must have one member. `of_study` describes the study's data. `validation` and `test` have the metrics
/// of the blend; empty: not measured. With folds each member keeps its own normalisation. A single package is returned
/// unchanged, with its own metrics.
ModelPackage blend_packages(std::vector<ModelPackage> packages, std::span<const double> shares,
                            const data::DataSpec& of_study, const std::map<std::string, double>& validation,
                            const std::map<std::string, double>& test);

/// Writes a package to a folder: model.graph, weights.safetensors, model.onnx and package.json. With several members,
/// members/1.graph, members/1.safetensors, … replace the first two files. Equal packages give equal bytes.
///
/// A model that ONNX cannot express has no model.onnx, and package.json has the reason. Files of an earlier package are
/// removed; other files stay. Nothing is written through a link. Errors: kIo, kResourceExhausted (the disk is full),
/// kDataLoss (a link is in the way).
Result<void> write_package(FileSystem& files, const std::string& folder, const ModelPackage& package);

/// Checks that a package may be written to a user's folder: it is absent, empty, or holds a package. Errors:
/// kAlreadyExists (it has other files; the message names up to three of them).
Result<void> check_package_folder(FileSystem& fs, const std::string& folder);

/// Reads a package from a folder. Errors: kNotFound (no package.json, or a file of a model is missing), kDataLoss
/// (files are damaged or do not belong together), kFailedPrecondition (a newer version wrote it).
Result<ModelPackage> read_package(FileSystem& fs, const std::string& folder, const graph::OpTable& ops);

/// The bytes of an ONNX model of the package, from raw features to predictions in the unit of the targets, with
/// normalisation inside. Its input or output is in double where the data have origins. Several members become one graph
/// that blends them. Errors: kUnimplemented (an operator without an ONNX form, by name).
Result<std::string> package_onnx(const ModelPackage& package);

/// C++ source text of the package, from raw features to predictions in the unit of the targets, each in double where
/// the data have origins. Errors: those of formats::to_cpp.
Result<std::string> package_cpp(const ModelPackage& package);

}  // namespace lanista::engine
