#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"

namespace lanista::train {

/// A model whose first part is not trained, and the shared things to run it with.
struct FrozenModel {
  graph::Graph model;
  std::set<graph::NodeId> frozen;            ///< run in inference form with these weights
  std::span<const Tensor> weights;           ///< float32, read while creating; those of other nodes are passed over
  const graph::OpTable* step_ops = nullptr;  ///< step::training_ops; read while creating
  const nn::Operators* operators = nullptr;  ///< beyond those shipped, read while creating; may be null
  MemoryBudget* budget = nullptr;            ///< of the program; may be null
  const nn::Backend* backend = &nn::cpu_backend();
};

/// The frozen part of a model, computed once for all who train a head on it. Heads are trained like any model, on data
/// whose samples are the values that the prefix gives; nothing is back-propagated behind them. Their numbers are those
/// of the whole model with the prefix in inference form, to the bit. Computes in float32. Copies share the program;
/// many threads may use one, and take turns (Retiarii, OSDI'20, §4: common prefixes).
class FrozenPrefix {
 public:
  /// Errors: those of graph::cut_behind_frozen; kInvalidArgument (weights that are missing or do not fit, by name);
  /// kResourceExhausted, kUnimplemented of nn::Program.
  static Result<FrozenPrefix> create(const FrozenModel& input);

  /// What is trained: state tensors, fresh weights and dropout masks are those of the whole model.
  const graph::Graph& head() const;
  /// The prefix's own tensors: with the head's they are the whole model's.
  const std::vector<Tensor>& weights() const;
  /// Of nodes and weights: equal prefixes give equal values.
  Digest digest() const;

  /// `samples` as the head sees them. All kept, every sample is computed here and never again. Otherwise `samples`
  /// outlives the result, augmentations change what the prefix reads, and trainers that share a data::EpochCache of the
  /// result compute an epoch once. Errors: kInvalidArgument (samples that the prefix does not take),
  /// kResourceExhausted.
  Result<data::Dataset> features(const data::Dataset& samples, data::StoredSamples keep, MemoryBudget* budget) const;

 private:
  struct Impl;
  explicit FrozenPrefix(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace lanista::train
