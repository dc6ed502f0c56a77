#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cases.h"
#include "lanista/exec/program/backend.h"

namespace lanista::oracle {

/// How a program differs from the oracle.
struct Difference {
  std::string what;  ///< "adam n3.weight", or what one of them threw
  std::string text;  ///< batches, error, allowed error, first differing element
};

/// What comparisons came upon.
struct ComparisonCounts {
  std::int64_t models = 0, values = 0;
  std::int64_t ill_conditioned = 0;  ///< models in which rounding in the oracle alone moves a value by more than 1e-10
  std::int64_t not_finite = 0;       ///< models with a value that is no number, in both
  double worst = 0;                  ///< scaled error where nothing is ill-conditioned
};

/// Own kernels, or a device with whole batches where one is given, against the oracle. Compares loss, every gradient,
/// three steps of each optimiser with slots and running statistics, and predictions before and after, all in float64.
/// Allowed is a distance of 1e-10 of the largest element of the tensor. Where that is exceeded, the oracle is run again
/// with a relative error of up to 1e-15 in every value that a node gives; the distance to itself, times 100, is what
/// rounding may do there, and such models are counted. Lion takes signs: where its argument is all rounding (a gradient
/// that is zero in exact arithmetic) the oracle is run once more with the program's own step there, and must then
/// agree. A loss that is no number must be none in both; what the oracle says "no number" of behind it is not compared,
/// nor an overflow beyond 1e300.
std::optional<Difference> compare(const Case& c, ComparisonCounts& counts, const nn::Backend* device = nullptr);

}  // namespace lanista::oracle
