#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// The model of a trial, with its cost.
struct BuiltModel {
  graph::Graph model;     ///< The whole graph, with its frozen part.
  graph::ModelCost cost;  ///< Number of trained parameters, and forward FLOPs of one sample.
  Digest structure;       ///< Its study::structure_key.
};

/// Builds the models of proposals from the model space of a study. Base models are built once and cached; mutated
/// models are built on each call. Not thread-safe.
class TrialModels {
 public:
  /// Builds models of `space`.
  explicit TrialModels(std::shared_ptr<const mutate::ModelSpace> space) : space_(std::move(space)) {}

  /// The model of a proposal, as a copy. Errors: kDataLoss (its edits give another graph hash), those of
  /// ModelSpace::rebuild.
  Result<BuiltModel> build(const study::Proposal& proposal);
  /// The model space of the study.
  const mutate::ModelSpace& space() const { return *space_; }
  /// The operator table of the model space.
  const graph::OpTable& ops() const { return space_->ops(); }

 private:
  /// The base model with this index.
  Result<const BuiltModel*> base_model(std::int64_t base);

  std::shared_ptr<const mutate::ModelSpace> space_;
  std::map<std::int64_t, BuiltModel> base_models_;  ///< By index.
};

}  // namespace lanista::engine
