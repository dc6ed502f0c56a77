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

/// The inputs of trials with a frozen part: the outputs of that part for each sample. They are computed once for all
/// trials and cached if that saves time (engine::frozen_cache_plan); otherwise they are computed for each batch.
/// Thread-safe.
class FrozenParts {
 public:
  /// Objects that it uses, which outlive it; `operators` and `budget` may be null.
  struct Setting {
    const data::Dataset& data;                        ///< Data of the study.
    const graph::OpTable& step_ops;                   ///< Operators of steps.
    const store::CheckpointStore& checkpoints;        ///< Holds the frozen weights.
    const nn::Operators* operators = nullptr;         ///< Operators of the caller.
    MemoryBudget* budget = nullptr;                   ///< Counts the cached bytes.
    std::int64_t bytes = 0;                           ///< Memory limit of programs.
    std::int64_t epoch_bytes = 0;                     ///< Memory limit of augmented epochs.
    const nn::Backend* backend = &nn::cpu_backend();  ///< Computes the outputs.
  };
  explicit FrozenParts(const Setting& setting) : setting_(setting) {}

  /// The trained part of a job. Data and epochs live as long as FrozenParts.
  struct Head {
    graph::Graph model;                   ///< The model after the frozen part.
    const data::Dataset* data = nullptr;  ///< Outputs of the frozen part.
    data::EpochCache* epochs = nullptr;   ///< Augmented epochs of these data.
  };
  /// The trained part of a job with a frozen part. The first call computes the cached outputs; other calls wait for it.
  /// Errors: those of the checkpoint store, graph::cut_behind_frozen and train::FrozenPrefix.
  Result<Head> head_input_of(const engine::Job& job);

  /// Frees the augmented epochs.
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
