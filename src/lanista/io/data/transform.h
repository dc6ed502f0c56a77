#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "lanista/base/digest.h"
#include "lanista/model/graph/shape.h"

namespace lanista::data {

class Dataset;

/// The last step of an input pipeline: a function from one sample to one sample.
struct Transform {
  graph::Shape features;  ///< shape of a result, without the batch
  Digest key;             ///< equal for equal functions
  /// Computes [n, features…] from [n, …]. The bits of a sample do not depend on the other samples or on n. Thread-safe.
  std::function<void(std::span<const float> samples, std::span<float> out)> apply;
};

/// Samples that are computed on demand: samples of another data set, augmented, then transformed.
struct SampleStream {
  /// Changes a sample of `base` in place before the transform. `row` is its number. May be empty.
  using SampleEdit = std::function<void(std::int64_t row, std::span<float> features)>;

  const Dataset* base = nullptr;  ///< the other data set, which must outlive the stream
  Transform transform;            ///< the last step

  /// Computes [rows.size(), features…], some hundred rows at a time.
  void gather(std::span<const std::int64_t> rows, const SampleEdit& edit, std::span<float> out) const;
};

/// Which samples a transformed data set stores. The others are computed on each access.
enum class StoredSamples { kNothing, kValidation, kAll };

}  // namespace lanista::data
