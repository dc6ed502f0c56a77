#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/epoch_cache.h"

namespace lanista::runtime {

/// Caches of augmented epochs that trials on the same rows share. With folds each training has its own epochs, because
/// normalisation differs between folds. They are made from epochs of the rows of all folds where that gives the same
/// bits. Thread-safe.
class SharedEpochs {
 public:
  /// No epoch is prepared yet. `most_bytes` limits the epochs of one training, and those of the rows of all folds.
  /// `budget` counts the bytes; null: not counted. `data` outlives this.
  SharedEpochs(const data::Dataset& data, std::int64_t most_bytes, MemoryBudget* budget) {
    const std::int64_t folds = std::ssize(data.spec().folds);
    if (folds == 0) caches_.push_back(std::make_unique<data::EpochCache>(data, most_bytes, budget));
    if (folds > 0) fold_union_ = std::make_unique<data::EpochCache>(*data.fold_union(), most_bytes, budget);
    for (std::int64_t fold = 0; fold < folds; ++fold) {
      caches_.push_back(std::make_unique<data::EpochCache>(data.training(fold), most_bytes, budget, fold_union_.get()));
    }
  }

  /// The cache of epochs of Dataset::training(fold): that of the fold with this index, or the only one if the data have
  /// no folds. The caches are made by the constructor. A wrong index throws std::out_of_range. The reference lives as
  /// long as this.
  data::EpochCache& cache_of(const std::optional<std::int64_t>& fold) {
    return *caches_.at(static_cast<std::size_t>(fold.value_or(0)));
  }
  /// Frees all epochs. Epochs that a caller holds stay valid.
  void clear() {
    for (const auto& cache : caches_) cache->clear();
    if (fold_union_) fold_union_->clear();
  }

 private:
  std::unique_ptr<data::EpochCache> fold_union_;  // Epochs of the pool, with folds; outlives the others.
  std::vector<std::unique_ptr<data::EpochCache>> caches_;
};

}  // namespace lanista::runtime
