#include "lanista/app/cli/tensor_compare.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "lanista/model/graph/shape.h"

namespace lanista::cli {
namespace {

Result<std::vector<double>> numbers_of(const Tensor& tensor) {
  if (tensor.type == ElementType::kF32) {
    const auto elements = elements_of<float>(tensor);
    return std::vector<double>(elements.begin(), elements.end());
  }
  if (tensor.type != ElementType::kF64)
    return Error{Code::kInvalidArgument, "only float32 and float64 can be compared", ""};
  const auto elements = elements_of<double>(tensor);
  return std::vector<double>(elements.begin(), elements.end());
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// The position of an element: "[0, 17]".
std::string element_index_text(std::size_t element, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[axis]);
    text = std::to_string(element % size) + (text.empty() ? "" : ", ") + text;
    element /= size;
  }
  return "[" + text + "]";
}

}  // namespace

Result<TensorComparison> compare(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
  if (actual.shape != expected.shape) {
    return Error{Code::kInvalidArgument,
                 "the output of the model is " + graph::Shape{actual.shape}.text() +
                     "; expected: " + graph::Shape{expected.shape}.text(),
                 ""};
  }
  LANISTA_ASSIGN(const auto ours, numbers_of(actual));
  LANISTA_ASSIGN(const auto theirs, numbers_of(expected));
  TensorComparison result{.elements = ours.size(), .num_outside_tolerance = 0, .max_difference = 0, .text = {}};
  // The worst element exceeds its tolerance most; a NaN exceeds every tolerance.
  double furthest = -1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference = ours[i] == theirs[i] ? 0 : std::abs(ours[i] - theirs[i]);
    const double allowed =
        std::isfinite(theirs[i]) ? atol + rtol * std::abs(theirs[i]) : 0;  // infinities must be equal
    if (!(difference <= allowed)) ++result.num_outside_tolerance;
    if (!(difference <= result.max_difference))
      result.max_difference = std::isnan(result.max_difference) ? result.max_difference : difference;
    const double share = difference - allowed;
    if (i == 0 || std::isnan(share) || share > furthest) {
      furthest = std::isnan(share) ? HUGE_VAL : share;
      at = i;
    }
  }
  result.text = "largest difference " + number(result.max_difference);
  if (!ours.empty()) {
    result.text += ", worst at " + element_index_text(at, actual.shape) + ": " + number(ours[at]) + " where " +
                   number(theirs[at]) + " is expected; " + std::to_string(result.num_outside_tolerance) + " of " +
                   std::to_string(result.elements) + " elements beyond " + number(atol) + " + " + number(rtol) +
                   " |expected|";
  }
  return result;
}

}  // namespace lanista::cli
