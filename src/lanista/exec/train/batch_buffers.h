#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/program.h"
#include "lanista/io/data/augment.h"
#include "lanista/io/data/dataset.h"

namespace lanista::train {

/// The memory of one mini-batch, which is overwritten for each batch. One thread at a time.
class BatchBuffers {
 public:
  BatchBuffers(std::int64_t batch, const data::DataSpec& spec);  ///< Memory for at most `batch` samples.

  /// Returns the samples of these rows, in their order, without augmentation. Number targets are normalised. The batch
  /// has the table of all rows (program::Batch::table), unless the data set is streamed.
  ///
  /// The batch is valid until the next call and refers to `rows`, which must live as long. `data` must outlive the
  /// buffers.
  program::Batch fill(const data::Dataset& data, std::span<const std::int64_t> rows);
  /// Returns the samples of these rows with the augmentation of pass `epoch` over the data, counted from 0. The batch
  /// has no table, is valid until the next call, and refers to `rows`.
  program::Batch fill(const data::Dataset& data, std::span<const std::int64_t> rows, const data::Augmenter& augmenter,
                      std::uint64_t data_seed, std::int64_t epoch);
  /// Returns the samples of these rows with features that the caller has prepared and keeps alive. The batch has no
  /// table, is valid until the next call, and refers to `rows`.
  program::Batch make_batch(const data::Dataset& data, std::span<const std::int64_t> rows,
                            std::span<const float> given_features);
  /// Returns a source of batches, without augmentation, of all `rows` in order, for an evaluation.
  ///
  /// Targets are in their original unit. Buffers, data and rows must outlive the source, which overwrites the buffers.
  program::BatchSource evaluation_batches(const data::Dataset& data, std::span<const std::int64_t> rows);

 private:
  const program::SampleTable& table_of(const data::Dataset& data);

  std::size_t batch_;
  std::vector<float> features_, targets_;
  std::vector<float> weights_;  // empty until a weighted data set is read
  std::vector<std::int32_t> labels_;
  std::map<const data::Dataset*, program::SampleTable> tables_;
};

}  // namespace lanista::train
