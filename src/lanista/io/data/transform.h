#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "lanista/base/digest.h"
#include "lanista/model/graph/shape.h"

namespace lanista::data {

class Dataset;

/// The last step of an input pipeline, such as a frozen part of a model: a function from one sample to one sample.
struct Transform {
  graph::Shape features;  ///< shape of one output sample, without the batch
  Digest key;             ///< identity: equal only for equal functions
  /// Computes `out` [n, features…] from `samples` [n, …], row-major. The bits of a sample do not depend on the other
  /// samples or on n. Thread-safe.
  std::function<void(std::span<const float> samples, std::span<float> out)> apply;
};

/// Samples that are computed on demand from those of a base data set: augmented, then transformed. Thread-safe.
struct SampleStream {
  /// Changes the features of row `row` of `base` in place before the transform. May be empty: no change.
  using SampleEdit = std::function<void(std::int64_t row, std::span<float> features)>;

  const Dataset* base = nullptr;  ///< the base data set, which must outlive the stream
  Transform transform;            ///< the last step

  /// Computes the samples `rows` into `out` [rows.size(), features…], at most 256 rows at a time.
  void gather(std::span<const std::int64_t> rows, const SampleEdit& edit, std::span<float> out) const;
};

/// Which samples a transformed data set stores in memory: none, those of the validation part, or all. The others are
/// computed on each access.
enum class StoredSamples { kNothing, kValidation, kAll };

}  // namespace lanista::data
