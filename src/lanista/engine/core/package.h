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
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// One trained model of a package.
struct ModelMember {
  graph::Graph model;
  std::vector<Tensor> weights;  ///< parameters and buffers, sorted by name
  std::string precision;        ///< as in a recipe
  double share = 1;             ///< of what the package predicts; shares sum to 1
  /// What becomes of raw numbers before it sees them, and of what it gives.
  struct Preprocessing {
    data::Normalization features;
    std::optional<data::Normalization> targets;
    std::vector<double> missing = {};      ///< what NaN becomes before that, one a feature; empty: it stays NaN
    std::vector<std::size_t> unseen = {};  ///< features that are zero before that: no row that it trained on has them
    bool operator==(const Preprocessing&) const = default;
  };
  /// Of members that were trained on other rows than each other (folds); the package's data are then data::unfitted (data/unfitted.h).
  std::optional<Preprocessing> own_preprocessing = {};
};

/// One trained model, or several whose predictions are blended, with all that predictions need.
struct ModelPackage {
  std::vector<ModelMember> members;  ///< at least one
  data::DataSpec data;
  std::string loss;                  ///< as in a recipe
  std::vector<std::string> metrics;  ///< as in the study file
  nlohmann::json facts;              ///< package.json: also where it comes from and how good it is

  /// How the members' predictions become one.
  Blend blend() const { return blend_of(data); }
  std::vector<double> shares() const;
  ModelMember::Preprocessing preprocessing_of(const ModelMember& member) const;
  /// All weights as one file has them; those of several members begin with "m1.", "m2.", ….
  std::vector<Tensor> tensors() const;
};

/// The package of a trial: `data` are the study's, of which a training of a fold sees its own; `state` is what its
/// trainer saved (optimiser slots are left out), `test` what it reached on the test part, empty if that was not
/// measured.
ModelPackage make_package(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                          const study::Recipe& recipe, graph::Graph model, std::vector<Tensor> state,
                          const std::map<std::string, double>& test);

/// One package of several packages of one model each, with their shares; `validation` and `test` are what the blend
/// reached, empty if that was not measured. Trials of one study, whose data are `of_study`; with folds each member
/// keeps what its own rows were normalised by. Of a single package, that package.
ModelPackage blend_packages(std::vector<ModelPackage> packages, std::span<const double> shares,
                            const data::DataSpec& of_study, const std::map<std::string, double>& validation,
                            const std::map<std::string, double>& test);

/// Writes model.graph, weights.safetensors, model.onnx, package.json; of several members members/1.graph,
/// members/1.safetensors, … in place of the first two. The same package gives the same bytes. A model that ONNX cannot
/// express has no model.onnx; package.json says why. What a package of another form left in the folder is removed; files of
/// other names stay, and nothing is written through a link. Errors: kIo, kResourceExhausted, kDataLoss (a link is in the
/// way).
Result<void> write_package(FileSystem& files, const std::string& folder, const ModelPackage& package);

/// Whether a user's folder may get a package: it is new or empty, or holds one. Errors: kAlreadyExists, naming up to three
/// of the files there.
Result<void> check_package_folder(FileSystem& fs, const std::string& folder);

/// Errors: kNotFound (no package), kDataLoss (files that are damaged or do not belong together), kFailedPrecondition
/// (written by a newer version).
Result<ModelPackage> read_package(FileSystem& fs, const std::string& folder, const graph::OpTable& ops);

/// The model in ONNX, from raw numbers to predictions in the targets' own unit, normalisation inside; of several
/// members one graph that blends them. Errors: kUnimplemented (an operator that has no mapping, by name).
Result<std::string> package_onnx(const ModelPackage& package);

/// The same as C++ source. Errors: those of formats::to_cpp.
Result<std::string> package_cpp(const ModelPackage& package);

}  // namespace lanista::engine
