#pragma once

#include <cstddef>
#include <string>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::cli {

/// How two tensors of float32 or float64 differ, element by element, as numpy.allclose looks at it.
struct TensorComparison {
  std::size_t elements = 0, num_outside_tolerance = 0;  ///< beyond: |seen - expected| > atol + rtol |expected|, or NaN
  double max_difference = 0;                            ///< the largest |seen - expected|; NaN if there is one
  std::string text;                                     ///< a line on it, with the place of the worst element
};

/// Errors: kInvalidArgument if the shapes differ, or the types are no floats.
Result<TensorComparison> compare(const Tensor& actual, const Tensor& expected, double rtol, double atol);

}  // namespace lanista::cli
