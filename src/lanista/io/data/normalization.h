#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/shape.h"

namespace lanista::data {

/// Features become (x - mean) / scale. There is one entry for all features, one for each channel of an image [C, H, W],
/// or one for each feature: a sample is cut into as many equal runs as there are entries.
struct Normalization {
  std::vector<double> mean{0}, scale{1};  ///< equally long

  /// Normalises whole rows of `width` features in place, in double arithmetic.
  void apply(std::span<float> rows, std::int64_t width) const;
  /// Reverses apply(), up to rounding.
  void undo(std::span<float> rows, std::int64_t width) const;
  bool operator==(const Normalization&) const = default;
};

/// Number of entries for images and plain arrays: one for each channel of images with several channels, else one.
std::int64_t normalization_entries(const graph::Shape& features);

/// Mean and standard deviation (1 where it is zero) of the given rows. The summation order is fixed.
Normalization fit_normalization(std::span<const float> features, std::int64_t width, std::int64_t entries,
                                std::span<const std::int64_t> rows);

nlohmann::json normalization_json(const Normalization& normalization);  ///< a normalisation as JSON
/// Reads what normalization_json() wrote. Errors: kDataLoss (not two equally long lists of finite numbers, entries that
/// do not divide `width`, a scale of 0). `what` names the numbers in messages.
Result<Normalization> parse_normalization(const nlohmann::json& json, std::int64_t width,
                                          const std::string& what = "features");

}  // namespace lanista::data
