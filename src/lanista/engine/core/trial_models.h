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

/// A trial's model with its cost.
struct BuiltModel {
  graph::Graph model;     ///< The graph.
  graph::ModelCost cost;  ///< Parameters and FLOPs.
  Digest structure;       ///< study::structure_key.
};

/// Builds the models of proposals from the model space of a study. Base models are built once. Not thread-safe.
class TrialModels {
 public:
  /// Builds models of `space`.
  explicit TrialModels(std::shared_ptr<const mutate::ModelSpace> space) : space_(std::move(space)) {}

  /// The model of a proposal. Errors: kDataLoss (its edits give another graph hash), those of ModelSpace::rebuild.
  Result<BuiltModel> build(const study::Proposal& proposal);
  /// The model space.
  const mutate::ModelSpace& space() const { return *space_; }
  /// The operators of the model space.
  const graph::OpTable& ops() const { return space_->ops(); }

 private:
  /// The base model with this index.
  Result<const BuiltModel*> base_model(std::int64_t base);

  std::shared_ptr<const mutate::ModelSpace> space_;
  std::map<std::int64_t, BuiltModel> base_models_;  ///< By index.
};

}  // namespace lanista::engine
