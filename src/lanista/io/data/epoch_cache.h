#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/io/data/augment.h"
#include "lanista/io/data/dataset.h"

namespace lanista::data {

/// The training samples of one data pass, in its order, augmented and, if data are streamed, transformed.
struct PreparedEpoch {
  std::vector<std::int64_t> rows;    ///< row numbers in the order of training
  std::vector<float> features;       ///< [rows.size(), features…], row-major
  MemoryBudget::Reservation memory;  ///< the charge for these bytes, which ends with this object
};

/// A key for a list of augmentations: two lists give one text only if names, options and order are equal.
std::string augment_text(std::span<const study::PluginConfig> augment);

/// A cache of prepared epochs that several trials read. An epoch is one data pass here.
///
/// Samples are augmented, or transformed by the frozen part of a model. They depend on data seed, epoch and row, not on
/// the trial. The first caller of get() prepares an epoch in its own thread and the others reuse it (the common prefix
/// of all trials of a study; Retiarii, OSDI'20, §4). The least recently used epoch is removed first. Thread-safe.
class EpochCache {
 public:
  /// An empty cache of at most `max_bytes`, charged to `budget` (null: no budget). `data` and `budget` must outlive the
  /// cache. For the data set of a fold, `fold_union` may be the cache of Dataset::fold_union(), which must outlive this
  /// one. Augmentations that only move features are then computed once for all folds, with the same bits.
  EpochCache(const Dataset& data, std::int64_t max_bytes, MemoryBudget* budget, EpochCache* fold_union = nullptr)
      : data_(data), max_bytes_(max_bytes), budget_(budget), fold_union_(fold_union) {}

  /// Returns the training samples of data pass `epoch` under `augment`, from which `augmenter` was made. Prepares them
  /// on the first call; other callers for the same epoch wait. Null if they exceed `max_bytes`, the budget or the
  /// memory; the caller then prepares samples batch by batch. A null result stays until the entry is removed.
  std::shared_ptr<const PreparedEpoch> get(std::span<const study::PluginConfig> augment, const Augmenter& augmenter,
                                           std::uint64_t data_seed, std::int64_t epoch);
  /// Removes all epochs from the cache. Epochs that a caller still holds stay valid.
  void clear();

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::int64_t>;
  struct Entry {
    std::mutex mutex;  // held while the epoch is prepared
    bool is_attempted = false;
    std::shared_ptr<const PreparedEpoch> epoch;  // null: not enough memory
    std::uint64_t last_used = 0;                 // number of the last call of get()
  };

  std::int64_t epoch_bytes() const;
  std::shared_ptr<const PreparedEpoch> prepare(std::span<const study::PluginConfig> augment, const Augmenter& augmenter,
                                               std::uint64_t data_seed, std::int64_t epoch) const;
  bool copy_from_fold_union(std::span<const study::PluginConfig> augment, const Augmenter& augmenter,
                            std::uint64_t data_seed, std::int64_t epoch, PreparedEpoch& out) const;

  const Dataset& data_;
  std::int64_t max_bytes_;
  MemoryBudget* budget_;
  EpochCache* fold_union_;
  std::mutex mutex_;  // of the map and the counter
  std::map<Key, std::shared_ptr<Entry>> entries_;
  std::uint64_t calls_ = 0;
};

}  // namespace lanista::data
