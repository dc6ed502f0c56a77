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

/// The training samples of one data pass, in its order, augmented and, where the data are streamed, transformed.
struct PreparedEpoch {
  std::vector<std::int64_t> rows;    ///< row numbers, in order
  std::vector<float> features;       ///< [rows.size(), features…]
  MemoryBudget::Reservation memory;  ///< the bytes of the features
};

/// A text that is equal for equal augmentations and options.
std::string augment_text(std::span<const study::PluginConfig> augment);

/// Prepared epochs that several trials read. An epoch is a data pass here.
///
/// Samples are augmented, or transformed by a frozen backbone. They depend on data seed, epoch and row, not on the
/// trial. The first caller prepares an epoch and the others reuse it (the common prefix of all trials of a study;
/// Retiarii, OSDI'20, §4). The least recently used epoch is removed first. Thread-safe.
class EpochCache {
 public:
  /// A cache of at most `max_bytes`, charged to `budget` (may be null). `data` must outlive the cache. A training of
  /// folds may pass the cache of its data's fold_union(), which must outlive this one. Augmentations that only move
  /// features are then computed once for all folds, with the same bits.
  EpochCache(const Dataset& data, std::int64_t max_bytes, MemoryBudget* budget, EpochCache* fold_union = nullptr)
      : data_(data), max_bytes_(max_bytes), budget_(budget), fold_union_(fold_union) {}

  /// The epoch under these augmentations, from which `augmenter` was made. Null if there is not enough memory; samples
  /// are prepared batch by batch then. Other callers for the same epoch wait.
  std::shared_ptr<const PreparedEpoch> get(std::span<const study::PluginConfig> augment, const Augmenter& augmenter,
                                           std::uint64_t data_seed, std::int64_t epoch);
  /// Removes all epochs. Epochs that a caller holds stay valid.
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
