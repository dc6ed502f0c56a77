#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "lanista/base/digest.h"
#include "lanista/model/graph/shape.h"

namespace lanista::data {

class Dataset;

/// The last link of an input pipeline: makes other samples of samples, each of one alone.
struct Transform {
  graph::Shape features;  ///< of a sample that comes out, no batch
  Digest key;             ///< equal keys do the same
  /// [n, …] to [n, features…]. The bits of a sample do not depend on its neighbours or on n. Thread-safe.
  std::function<void(std::span<const float> samples, std::span<float> out)> apply;
};

/// Samples that are computed when they are asked for: those of another data set, changed, then transformed.
struct SampleStream {
  /// Changes a sample of `base` in place before it is transformed; `row` is its number. May be empty.
  using SampleEdit = std::function<void(std::int64_t row, std::span<float> features)>;

  const Dataset* base = nullptr;  ///< outlives the stream
  Transform transform;

  /// [rows.size(), features…], computed some hundred rows at a time.
  void gather(std::span<const std::int64_t> rows, const SampleEdit& edit, std::span<float> out) const;
};

/// Which samples a transformed data set holds; the others are computed whenever they are asked for.
enum class StoredSamples { kNothing, kValidation, kAll };

}  // namespace lanista::data
