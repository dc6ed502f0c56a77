#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/data/dataset.h"
#include "lanista/data/epoch_cache.h"

namespace lanista::runtime {

/// The augmented epochs that trials on one set of rows share: those of the data, and of every training of folds. A
/// sample is a function of data seed, pass and row, but normalised by its training, so each fold has epochs of its own.
class SharedEpochs {
 public:
  /// They take `most_bytes` together; `budget` may be null. `data` outlives this.
  SharedEpochs(const data::Dataset& data, std::int64_t most_bytes, MemoryBudget* budget) {
    const std::int64_t folds = std::ssize(data.spec().folds);
    const std::int64_t each = most_bytes / std::max<std::int64_t>(1, folds);
    if (folds == 0) caches_.push_back(std::make_unique<data::EpochCache>(data, each, budget));
    for (std::int64_t fold = 0; fold < folds; ++fold) {
      caches_.push_back(std::make_unique<data::EpochCache>(data.training(fold), each, budget));
    }
  }

  /// Of Dataset::training(fold).
  data::EpochCache& of(const std::optional<std::int64_t>& fold) {
    return *caches_.at(static_cast<std::size_t>(fold.value_or(0)));
  }
  void clear() {
    for (const auto& cache : caches_) cache->clear();
  }

 private:
  std::vector<std::unique_ptr<data::EpochCache>> caches_;
};

}  // namespace lanista::runtime
