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

/// The training samples of one pass over them, in its order, augmented, and transformed where the data are streamed.
struct PreparedEpoch {
  std::vector<std::int64_t> rows;
  std::vector<float> features;  ///< [rows.size(), features…]
  MemoryBudget::Reservation memory;
};

/// Equal where augmentations and their options are.
std::string augment_text(std::span<const study::PluginConfig> augment);

/// Prepared epochs, here passes over the training rows, that several trials read: augmented samples, or what a frozen
/// backbone makes of them. Samples are a function of data seed, epoch and row, not of the trial, so the first who asks
/// prepares an epoch and everybody else finds it done (the common prefix of all trials of a study; Retiarii, OSDI'20,
/// §4). What was not used for longest goes first. Thread-safe.
class EpochCache {
 public:
  /// EpochSchedule take `max_bytes` together, out of `budget` (may be null). `data` outlives the cache. A training of folds
  /// may have a cache of its data's pool, which outlives this one: augmentations that only move features are then done
  /// once for all folds, and give the same bits.
  EpochCache(const Dataset& data, std::int64_t max_bytes, MemoryBudget* budget, EpochCache* fold_union = nullptr)
      : data_(data), max_bytes_(max_bytes), budget_(budget), fold_union_(fold_union) {}

  /// The epoch under these augmentations, `augment` being what `augmenter` was made of. Null if there is no room for
  /// it: then samples are prepared batch by batch. Others who want the same epoch meanwhile wait.
  std::shared_ptr<const PreparedEpoch> get(std::span<const study::PluginConfig> augment, const Augmenter& augmenter,
                                           std::uint64_t data_seed, std::int64_t epoch);
  /// Lets go of all epochs; whoever holds one keeps it.
  void clear();

 private:
  using Key = std::tuple<std::string, std::uint64_t, std::int64_t>;
  struct Entry {
    std::mutex mutex;  // held while the epoch is prepared
    bool is_attempted = false;
    std::shared_ptr<const PreparedEpoch> epoch;  // null: no room
    std::uint64_t last_used = 0;                      // when, counted in calls of get
  };

  std::int64_t epoch_bytes() const;
  std::shared_ptr<const PreparedEpoch> prepare(std::span<const study::PluginConfig> augment,
                                               const Augmenter& augmenter, std::uint64_t data_seed,
                                               std::int64_t epoch) const;
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
