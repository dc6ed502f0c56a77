#pragma once

#include <cstddef>
#include <string>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::cli {

/// How two tensors of float32 or float64 differ, element by element, as numpy.allclose looks at it.
struct Comparison {
  std::size_t elements = 0, beyond = 0;  ///< beyond: |seen - expected| > atol + rtol |expected|, or NaN
  double worst = 0;                      ///< the largest |seen - expected|; NaN if there is one
  std::string text;                      ///< a line on it, with the place of the worst element
};

/// Errors: kInvalidArgument if the shapes differ, or the types are no floats.
Result<Comparison> compare(const Tensor& seen, const Tensor& expected, double rtol, double atol);

}  // namespace lanista::cli
