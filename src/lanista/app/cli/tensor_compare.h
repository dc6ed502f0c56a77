#pragma once

#include <cstddef>
#include <string>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::cli {

/// The difference of two tensors of float32 or float64, element by element, by the rule of numpy.allclose.
struct TensorComparison {
  std::size_t elements = 0;               ///< Number of elements.
  std::size_t num_outside_tolerance = 0;  ///< Elements with |actual - expected| > atol + rtol |expected|, or NaN.
  double max_difference = 0;              ///< Largest |actual - expected|; NaN if an element is NaN.
  std::string text;                       ///< One line for people with the position of the worst element.
};

/// Compares two tensors of equal shape. Errors: kInvalidArgument (the shapes differ, or a type is not float32 or
/// float64).
Result<TensorComparison> compare(const Tensor& actual, const Tensor& expected, double rtol, double atol);

}  // namespace lanista::cli
