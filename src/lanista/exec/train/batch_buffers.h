#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lanista/io/data/augment.h"
#include "lanista/io/data/dataset.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/program.h"

namespace lanista::train {

/// Room for one mini-batch, filled again and again.
class BatchBuffers {
 public:
  BatchBuffers(std::int64_t batch, const data::DataSpec& spec);  ///< of so many samples

  /// The samples of these rows, as they are, and where they stand (nn::Batch::table). The batch lives until the next
  /// call; the rows are the caller's, and the data set outlives the buffers.
  nn::Batch fill(const data::Dataset& data, std::span<const std::int64_t> rows);
  /// The same, augmented as in this epoch.
  nn::Batch fill(const data::Dataset& data, std::span<const std::int64_t> rows, const data::Augmenter& augmenter,
                 std::uint64_t data_seed, std::int64_t epoch);
  /// The same with features that lie ready.
  nn::Batch make_batch(const data::Dataset& data, std::span<const std::int64_t> rows, std::span<const float> given_features);
  /// The samples of any number of rows as they are, batch after batch, for an evaluation: targets are in their own
  /// unit. Buffers, data and rows outlive it.
  nn::BatchSource evaluation_batches(const data::Dataset& data, std::span<const std::int64_t> rows);

 private:
  const nn::SampleTable& table_of(const data::Dataset& data);

  std::size_t batch_;
  std::vector<float> features_, targets_;
  std::vector<float> weights_;  // none until a weighted data set is read
  std::vector<std::int32_t> labels_;
  std::map<const data::Dataset*, nn::SampleTable> tables_;
};

}  // namespace lanista::train
