#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lanista {

/// How the predictions of several models become one. What comes out is of the same kind as what each of them gives, so
/// that whoever reads the predictions of one reads those of many.
enum class Blend {
  kNumbers,  ///< the weighted mean
  kClasses,  ///< logits of classes: the logarithm of the weighted mean of what softmax makes of each; softmax gives the mean
  kLabels,   ///< logits, each of a label of its own: that of the weighted mean of sigmoids
};

/// `members` are predictions [rows, width], `shares` sum to 1, one each. Of a single member its predictions, untouched.
/// In double, members added up in their order, the same bits on every machine. A not-a-number of any member is one of
/// the blend: with classes of its whole row.
std::vector<double> blend(Blend kind, std::span<const std::vector<double>> members, std::span<const double> shares,
                          std::size_t width);

}  // namespace lanista
