#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/epoch_cache.h"

namespace lanista::runtime {

/// The augmented epochs that trials on one set of rows share: those of the data, or of every training of folds. A
/// sample is a function of data seed, pass and row, but normalised by its training, so each fold has epochs of its own,
/// made of those of the pool as far as that gives the same bits.
class SharedEpochs {
 public:
  /// The epochs of one training, and of the pool, take `most_bytes`; `budget` may be null. `data` outlives this.
  SharedEpochs(const data::Dataset& data, std::int64_t most_bytes, MemoryBudget* budget) {
    const std::int64_t folds = std::ssize(data.spec().folds);
    if (folds == 0) caches_.push_back(std::make_unique<data::EpochCache>(data, most_bytes, budget));
    if (folds > 0) fold_union_ = std::make_unique<data::EpochCache>(*data.fold_union(), most_bytes, budget);
    for (std::int64_t fold = 0; fold < folds; ++fold) {
      caches_.push_back(std::make_unique<data::EpochCache>(data.training(fold), most_bytes, budget, fold_union_.get()));
    }
  }

  /// Of Dataset::training(fold).
  data::EpochCache& cache_of(const std::optional<std::int64_t>& fold) {
    return *caches_.at(static_cast<std::size_t>(fold.value_or(0)));
  }
  void clear() {
    for (const auto& cache : caches_) cache->clear();
    if (fold_union_) fold_union_->clear();
  }

 private:
  std::unique_ptr<data::EpochCache> fold_union_;  // with folds; outlives those of the trainings
  std::vector<std::unique_ptr<data::EpochCache>> caches_;
};

}  // namespace lanista::runtime
