#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::train {

/// A model with a frozen first part, and the shared objects to run it.
struct FrozenModel {
  graph::Graph model;               ///< The whole model.
  std::set<graph::NodeId> frozen;   ///< Nodes that run in inference form with `weights`.
  std::span<const Tensor> weights;  ///< Float32 tensors by name, read while creating. Those of other nodes are ignored.
  const graph::OpTable* step_ops = nullptr;  ///< Result of autodiff::training_ops, read while creating; never null.
  const program::Operators* operators = nullptr;  ///< Caller's operators, read while creating; null: the shipped ones.
  MemoryBudget* budget = nullptr;                 ///< Budget of the program; null: no limit.
  const program::Backend* backend = &program::cpu_backend();  ///< Backend that compiles the prefix; never null.
};

/// The frozen part of a model, computed once for all heads that train on it.
///
/// A head trains like any model, on data with the output of the prefix as samples. No gradient passes into the prefix.
/// The bits are those of the whole model with the prefix in inference form. Computes in float32. Copies share one
/// program, and threads that use it wait for each other. Source: common prefixes in Retiarii (OSDI'20, section 4).
class FrozenPrefix {
 public:
  /// Compiles the prefix and cuts the model behind the frozen nodes. Errors: those of graph::cut_behind_frozen
  /// (kNotFound, kInvalidArgument, kNotApplicable, kUnimplemented); kInvalidArgument (weights that are missing or do
  /// not fit, by name); kResourceExhausted, kUnimplemented of program::Program.
  static Result<FrozenPrefix> create(const FrozenModel& input);

  /// The part that is trained. Its state tensors, fresh weights and dropout masks are those of the whole model.
  const graph::Graph& head() const;
  /// The tensors of the prefix, in dependency order. Together with the head's they are those of the whole model.
  const std::vector<Tensor>& weights() const;
  /// Digest of the prefix's graph and weights; equal prefixes give equal values.
  Digest digest() const;

  /// Returns a data set with the output of the prefix for each sample of `samples`, as the head reads it.
  ///
  /// With StoredSamples::kAll every sample is computed here, once, and stored in memory of `budget` (null: no limit).
  /// Otherwise `samples` must outlive the result, and samples are computed when they are read. Then augmentations
  /// change the input of the prefix, and trainers that share a data::EpochCache of the result compute an epoch once.
  /// Errors: kInvalidArgument (samples with another number of elements than the prefix reads), kResourceExhausted.
  Result<data::Dataset> features(const data::Dataset& samples, data::StoredSamples keep, MemoryBudget* budget) const;

 private:
  struct Impl;
  explicit FrozenPrefix(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace lanista::train
