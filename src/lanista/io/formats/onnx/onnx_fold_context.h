#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "lanista/io/formats/onnx/onnx_fold.h"
#include "lanista/io/formats/onnx/onnx_shapes.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

// Helpers for the operators on constants.
namespace lanista::formats::onnx {

/// The constant output of a node, none if it cannot be folded, or an error if it is invalid.
using FoldResult = Result<std::optional<Tensor>>;
/// The constants that a node reads, in the order of its inputs; null for an absent one.
using Inputs = std::span<const Tensor* const>;

inline const FoldResult kNotFolded{std::optional<Tensor>()};  ///< result: the node cannot be folded

/// The arguments of a fold: one node, its constant inputs, and the bytes that its result may use. Errors of its
/// functions have no location.
struct FoldContext {
  const OnnxNode& node;  ///< the node
  Inputs inputs;         ///< its inputs
  ByteBudget& budget;    ///< remaining bytes for results

  /// True means that input `i` (from 0) is not absent.
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  /// Input `i`. Precondition: has(i).
  const Tensor& input(std::size_t i = 0) const { return *inputs[i]; }
  /// Number of dimensions of input 0. Precondition: has(0).
  std::int64_t rank() const { return static_cast<std::int64_t>(input().shape.size()); }

  /// The attribute `name` of the node, or `default_value` if it is absent. Errors: kDataLoss (an attribute of another
  /// type).
  template <class T>
  Result<T> attribute(const char* name, T default_value) const {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) return default_value;
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) return malformed("the attribute " + in_quotes(name) + " is of the wrong type");
    return *value;
  }

  /// The integers of input `i`. Precondition: has(i). Errors: kDataLoss (more than one dimension, or no int64 or
  /// int32).
  Result<List> list(std::size_t i) const {
    if (input(i).shape.size() > 1) return malformed("its input " + std::to_string(i) + " is no list");
    return integers_of(input(i));
  }

  /// The integers of input `i`, else of attribute `name`, as in old opsets; none if both are absent. Errors: kDataLoss
  /// (an input or attribute that is no list of integers).
  Result<std::optional<List>> list(const char* name, std::size_t i) const {
    if (has(i)) {
      LANISTA_ASSIGN(List numbers, list(i));
      return std::optional(std::move(numbers));
    }
    if (!node.attributes.contains(name)) return std::optional<List>();
    LANISTA_ASSIGN(List numbers, attribute(name, List()));
    return std::optional(std::move(numbers));
  }

  /// A tensor of zeros, after its bytes were subtracted from the budget. Errors: kDataLoss (an invalid shape),
  /// kResourceExhausted.
  Result<Tensor> allocate(ElementType type, List shape) const {
    if (shape.size() > kMaxRank) return malformed("a tensor has more than 64 dimensions");
    std::int64_t bytes = static_cast<std::int64_t>(element_size(type));
    bool empty = false;
    for (const std::int64_t dim : shape) {
      if (dim < 0) return malformed("a tensor has the dimension " + std::to_string(dim) + ", below 0");
      empty = empty || dim == 0;
      if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return malformed("the shape overflows");
    }
    Tensor tensor{.name = {}, .type = type, .shape = std::move(shape), .bytes = {}};
    if (empty) return tensor;
    LANISTA_TRY(budget.spend(static_cast<std::size_t>(bytes)));
    tensor.bytes.resize(static_cast<std::size_t>(bytes));
    return tensor;
  }

  /// A copy of input 0 in another shape. Precondition: the shape has the same number of elements, which is not checked.
  /// Errors: kDataLoss (more than 64 dimensions), kResourceExhausted.
  FoldResult in_shape(List shape) const {
    if (shape.size() > kMaxRank) return malformed("a tensor has more than 64 dimensions");
    LANISTA_TRY(budget.spend(input().bytes.size()));
    Tensor result = input();
    result.shape = std::move(shape);
    return std::optional(std::move(result));
  }
};

/// Functions that compute the constant output of a node, by the name of its ONNX operator.
using FoldTable = std::map<std::string, std::function<FoldResult(const FoldContext&)>, std::less<>>;

/// The folds of operators that compute numbers: arithmetic, casts, ranges, constants of a given shape.
FoldTable numeric_folds();

}  // namespace lanista::formats::onnx
