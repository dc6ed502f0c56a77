#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/epoch_cache.h"
#include "lanista/engine/core/executor.h"
#include "lanista/model/graph/op.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::runtime {

/// What trials with a frozen part train on: what that part makes of the samples, computed once for all of them and kept
/// where that pays (engine::frozen_cache_plan), else computed batch by batch. Thread-safe.
class FrozenParts {
 public:
  /// All outlive this; `operators` and `budget` may be null.
  struct Setting {
    const data::Dataset& data;
    const graph::OpTable& step_ops;
    const store::CheckpointStore& checkpoints;
    const nn::Operators* operators = nullptr;
    MemoryBudget* budget = nullptr;
    std::int64_t bytes = 0;        ///< that programs may take
    std::int64_t epoch_bytes = 0;  ///< of augmented epochs
    const nn::Backend* backend = &nn::cpu_backend();
  };
  explicit FrozenParts(const Setting& setting) : setting_(setting) {}

  /// What a job really trains. Data and epochs live as long as this.
  struct Head {
    graph::Graph model;
    const data::Dataset* data = nullptr;
    data::EpochCache* epochs = nullptr;
  };
  /// Of a job with a frozen part; the first who asks waits until what is kept has been computed, and so do others who
  /// ask meanwhile. Errors: those of the checkpoint store, graph::cut_behind_frozen and train::FrozenPrefix.
  Result<Head> head_input_of(const engine::Job& job);

  /// Lets go of augmented epochs.
  void clear_epochs();

 private:
  struct Shared {
    Shared(data::Dataset of_heads, std::int64_t epoch_bytes, MemoryBudget* budget)
        : data(std::move(of_heads)), epochs(data, epoch_bytes, budget) {}
    data::Dataset data;
    data::EpochCache epochs;  // of `data`
  };
  Result<std::unique_ptr<Shared>> share(const engine::Job& job, const graph::Graph& prefix) const;

  Setting setting_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Shared>> shared_;  // by what gives the values
};

}  // namespace lanista::runtime
