#include "lanista/exec/train/batch_buffers.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace lanista::train {

BatchBuffers::BatchBuffers(std::int64_t batch, const data::DataSpec& spec)
    : batch_(static_cast<std::size_t>(batch)),
      features_(static_cast<std::size_t>(batch * spec.features.elements_per_sample())) {
  if (spec.classes > 0) {
    labels_.resize(static_cast<std::size_t>(batch * spec.labels_per_sample()));
  } else {
    targets_.resize(static_cast<std::size_t>(batch * spec.target_size));
  }
}

program::Batch BatchBuffers::fill(const data::Dataset& data, std::span<const std::int64_t> rows) {
  const auto width = static_cast<std::size_t>(data.spec().features.elements_per_sample());
  const auto used = std::span(features_).first(rows.size() * width);
  data.gather_features(rows, used);
  program::Batch batch = make_batch(data, rows, used);
  // A streamed data set has no table: its rows are computed when they are read.
  if (!data.spec().stream) batch.table = &table_of(data);
  return batch;
}

const program::SampleTable& BatchBuffers::table_of(const data::Dataset& data) {
  program::SampleTable& table = tables_[&data];
  if (table.identity != nullptr) return table;
  table.identity = &data;
  table.rows = data.spec().rows;
  table.read = [&data, buffers = std::shared_ptr<BatchBuffers>(), numbers = std::vector<std::int64_t>()](
                   std::int64_t first, std::int64_t count) mutable {
    if (buffers == nullptr || static_cast<std::int64_t>(buffers->batch_) < count) {
      buffers = std::make_shared<BatchBuffers>(count, data.spec());
    }
    numbers.resize(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), first);
    return buffers->fill(data, numbers);
  };
  return table;
}

program::Batch BatchBuffers::fill(const data::Dataset& data, std::span<const std::int64_t> rows,
                                  const data::Augmenter& augmenter, std::uint64_t data_seed, std::int64_t epoch) {
  const auto width = static_cast<std::size_t>(data.spec().features.elements_per_sample());
  const auto used = std::span(features_).first(rows.size() * width);
  augmenter.gather(data, data_seed, epoch, rows, used);
  return make_batch(data, rows, used);
}

program::Batch BatchBuffers::make_batch(const data::Dataset& data, std::span<const std::int64_t> rows,
                                        std::span<const float> given_features) {
  const auto& spec = data.spec();
  program::Batch batch;
  batch.size = static_cast<std::int64_t>(rows.size());
  batch.sample_index = rows;
  batch.features = given_features;
  if (spec.classes > 0) {
    const auto used = std::span(labels_).first(rows.size() * static_cast<std::size_t>(spec.labels_per_sample()));
    data.gather_labels(rows, used);
    batch.labels = used;
  } else {
    const auto used = std::span(targets_).first(rows.size() * static_cast<std::size_t>(spec.target_size));
    data.gather_targets(rows, used);
    batch.targets = used;
  }
  if (data.weighted()) {
    weights_.resize(batch_);
    const auto used = std::span(weights_).first(rows.size());
    data.gather_weights(rows, used);
    batch.weights = used;
  }
  return batch;
}

program::BatchSource BatchBuffers::evaluation_batches(const data::Dataset& data, std::span<const std::int64_t> rows) {
  return [this, &data, rows, batch = program::Batch()]() mutable -> const program::Batch* {
    if (rows.empty()) return nullptr;
    const auto wanted = rows.first(std::min(batch_, rows.size()));
    rows = rows.subspan(wanted.size());
    batch = fill(data, wanted);
    if (!batch.targets.empty()) data.gather_raw_targets(wanted, std::span(targets_).first(batch.targets.size()));
    return &batch;
  };
}

}  // namespace lanista::train
