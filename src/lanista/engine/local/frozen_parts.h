#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/epoch_cache.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/model/graph/op.h"

namespace lanista::runtime {

/// Gives trials with a frozen part their inputs: the outputs of this part for each sample. Thread-safe.
///
/// Outputs are computed once for each frozen part and fold and cached, if that saves time (engine::frozen_cache_plan)
/// and memory suffices. With augmentation only those of the validation rows are cached. Those of training rows are
/// computed once for each augmented epoch and shared while memory suffices, otherwise for each batch. Cached outputs
/// are never freed; augmented epochs are, by clear_epochs().
class FrozenParts {
 public:
  /// Objects and limits that it uses. The objects outlive it; `operators` and `budget` may be null.
  struct Setting {
    const data::Dataset& data;                      ///< Data of the study.
    const graph::OpTable& step_ops;                 ///< Operator table of training steps.
    const store::CheckpointStore& checkpoints;      ///< Holds the frozen weights.
    const program::Operators* operators = nullptr;  ///< Kernels of the caller's own operators.
    MemoryBudget* budget = nullptr;                 ///< Counts the cached bytes; null: not counted.
    std::int64_t bytes = 0;        ///< Memory limit of programs in bytes, a part of which the cache may use.
    std::int64_t epoch_bytes = 0;  ///< Most bytes of augmented epochs for each head's data.
    const program::Backend* backend = &program::cpu_backend();  ///< Computes the outputs.
  };
  /// Nothing is computed or cached yet.
  explicit FrozenParts(const Setting& setting) : setting_(setting) {}

  /// The trained part of a job (its head), with its inputs. The data and epochs live as long as the FrozenParts.
  struct Head {
    graph::Graph model;                   ///< The trained head: the model after the frozen part.
    const data::Dataset* data = nullptr;  ///< Data set with the outputs of the frozen part as features.
    data::EpochCache* epochs = nullptr;   ///< Cache of augmented epochs of these data.
  };
  /// The trained part of a job with a frozen part. The first call for a frozen part and a fold computes the cached
  /// outputs, and concurrent calls wait for it. Errors: those of the checkpoint store, graph::cut_behind_frozen
  /// (kNotFound, kInvalidArgument, kNotApplicable, kUnimplemented) and train::FrozenPrefix.
  Result<Head> head_input_of(const engine::Job& job);

  /// Frees all augmented epochs; cached outputs stay.
  void clear_epochs();

 private:
  struct Shared {
    Shared(data::Dataset of_heads, std::int64_t epoch_bytes, MemoryBudget* budget)
        : data(std::move(of_heads)), epochs(data, epoch_bytes, budget) {}
    data::Dataset data;
    data::EpochCache epochs;  // Epochs of `data`.
  };
  Result<std::unique_ptr<Shared>> share(const engine::Job& job, const graph::Graph& prefix) const;

  Setting setting_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Shared>> shared_;  // Cached outputs by frozen part and fold.
};

}  // namespace lanista::runtime
