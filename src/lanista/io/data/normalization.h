#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/shape.h"

namespace lanista::data {

/// Means and scales by which features become (x - mean) / scale. There is one entry for all features, one for each
/// channel of an image [C, H, W], or one for each feature: a sample is cut into as many equal runs as there are
/// entries.
struct Normalization {
  std::vector<double> mean{0}, scale{1};  ///< one number for each entry; equally long, not empty

  /// Normalises whole rows of `width` features in place, in double arithmetic. Throws InternalError unless the number
  /// of entries divides `width`.
  void apply(std::span<float> rows, std::int64_t width) const;
  /// Computes x * scale + mean in place, which reverses apply() up to rounding.
  void undo(std::span<float> rows, std::int64_t width) const;
  bool operator==(const Normalization&) const = default;
};

/// The normalisation of numbers that are stored less `origin`: a copy with mean - origin. `origin` has one number for
/// each entry. Without origins, and for Normalization{} (no normalisation), it is `normalization` itself. Throws
/// InternalError if the numbers of entries differ.
Normalization less_origin(Normalization normalization, std::span<const double> origin);

/// Number of entries of a normalisation for samples of shape `features`: the channels of images [C, H, W], else 1.
std::int64_t normalization_entries(const graph::Shape& features);

/// The normalisation with mean and standard deviation (1 if it is 0) of the given `rows` of `features` [n, width], with
/// `entries` entries. The summation order is fixed. Precondition: `rows` is not empty, `entries` divides `width`.
Normalization fit_normalization(std::span<const float> features, std::int64_t width, std::int64_t entries,
                                std::span<const std::int64_t> rows);

nlohmann::json normalization_json(const Normalization& normalization);  ///< {"mean": […], "scale": […]}
/// Reads what normalization_json() wrote. Errors: kDataLoss (not two equally long lists of finite numbers, entries that
/// do not divide `width`, a scale of 0). `what` names the numbers in messages.
Result<Normalization> parse_normalization(const nlohmann::json& json, std::int64_t width,
                                          const std::string& what = "features");

}  // namespace lanista::data
