#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lanista {

/// How the predictions of several models become one prediction.
enum class Blend {
  kNumbers,  ///< The weighted mean.
  /// Logits of classes: the logarithm of the weighted mean of each member's softmax. A softmax gives the mean again.
  kClasses,
  kLabels,  ///< Logits of independent labels: the logit of the weighted mean of the sigmoids.
};

/// Returns the blended predictions, [rows, width] in row-major order as each of `members`. `shares` has the weight of
/// each member; the sum is 1.
///
/// A single member is returned unchanged. No member, another number of shares, members of different sizes, or sizes
/// that are no multiple of `width` are a bug of the caller. The sum of `shares` is not checked. The arithmetic is
/// double and adds the members in their order, so that the bits are the same on every machine. A NaN of one member
/// makes that element NaN; with kClasses it makes the whole row NaN.
std::vector<double> blend(Blend kind, std::span<const std::vector<double>> members, std::span<const double> shares,
                          std::size_t width);

}  // namespace lanista
