#include "lanista/io/data/epoch_cache.h"

#include <algorithm>
#include <new>
#include <span>
#include <tuple>

namespace lanista::data {

std::string augment_text(std::span<const study::PluginConfig> augment) {
  std::string text;
  for (const study::PluginConfig& plugin : augment) text += plugin.name + " " + plugin.options.dump() + "\n";
  return text;
}

std::int64_t EpochCache::epoch_bytes() const {
  const auto rows = static_cast<std::int64_t>(data_.rows(Part::kTrain).size());
  return rows * (data_.spec().features.elements_per_sample() * static_cast<std::int64_t>(sizeof(float)) +
                 static_cast<std::int64_t>(sizeof(std::int64_t)));
}

std::shared_ptr<const PreparedEpoch> EpochCache::get(std::span<const study::PluginConfig> augment,
                                                     const Augmenter& augmenter, std::uint64_t data_seed,
                                                     std::int64_t epoch) {
  if (epoch_bytes() > max_bytes_) return nullptr;
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    auto& found = entries_[{augment_text(augment), data_seed, epoch}];
    if (!found) found = std::make_shared<Entry>();
    found->last_used = ++calls_;
    entry = found;
    while (static_cast<std::int64_t>(entries_.size()) * epoch_bytes() > max_bytes_) {
      entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
        return a.second->last_used < b.second->last_used;
      }));
    }
  }
  const std::lock_guard lock(entry->mutex);
  if (!entry->is_attempted) {
    entry->is_attempted = true;
    entry->epoch = prepare(augment, augmenter, data_seed, epoch);
  }
  return entry->epoch;
}

/// Copies what all folds share. False if there is nothing in common, or not enough memory.
bool EpochCache::copy_from_fold_union(std::span<const study::PluginConfig> augment, const Augmenter& augmenter,
                                      std::uint64_t data_seed, std::int64_t epoch, PreparedEpoch& out) const {
  const std::size_t moving = fold_union_ != nullptr ? augmenter.num_leading_moves() : 0;
  if (moving == 0) return false;
  const auto of_pool = Augmenter::make(augment.first(moving), fold_union_->data_.spec());
  if (!of_pool) return false;
  const auto moved = fold_union_->get(augment.first(moving), *of_pool, data_seed, epoch);
  if (!moved) return false;
  std::vector<std::size_t> position(static_cast<std::size_t>(data_.spec().rows));
  for (std::size_t i = 0; i < moved->rows.size(); ++i) position[static_cast<std::size_t>(moved->rows[i])] = i;
  const auto width = static_cast<std::size_t>(data_.spec().features.elements_per_sample());
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    const auto sample = std::span(out.features).subspan(i * width, width);
    std::ranges::copy(
        std::span(moved->features).subspan(position[static_cast<std::size_t>(out.rows[i])] * width, width),
        sample.begin());
    data_.post_process(sample);
    augmenter.apply_from(moving, data_seed, epoch, out.rows[i], sample);
  }
  return true;
}

std::shared_ptr<const PreparedEpoch> EpochCache::prepare(std::span<const study::PluginConfig> augment,
                                                         const Augmenter& augmenter, std::uint64_t data_seed,
                                                         std::int64_t epoch) const {
  auto out = std::make_shared<PreparedEpoch>();
  if (budget_ != nullptr) {
    auto reserved = budget_->reserve(epoch_bytes());
    if (!reserved) return nullptr;
    out->memory = *std::move(reserved);
  }
  const auto width = static_cast<std::size_t>(data_.spec().features.elements_per_sample());
  try {
    out->rows = epoch_order(data_.rows(Part::kTrain), data_seed, epoch);
    out->features.resize(out->rows.size() * width);
    if (copy_from_fold_union(augment, augmenter, data_seed, epoch, *out)) return out;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  augmenter.gather(data_, data_seed, epoch, out->rows, out->features);
  return out;
}

void EpochCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace lanista::data
