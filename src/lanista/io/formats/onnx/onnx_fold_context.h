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

/// The result of a fold, or none if the node cannot be folded.
using FoldResult = Result<std::optional<Tensor>>;
/// The constants that a node reads; null for an absent one.
using Inputs = std::span<const Tensor* const>;

inline const FoldResult kNotFolded{std::optional<Tensor>()};  ///< the node cannot be folded

/// One node, its constant inputs, and the memory that its result may use.
struct FoldContext {
  const OnnxNode& node;  ///< the node
  Inputs inputs;         ///< its inputs
  ByteBudget& budget;    ///< for the result

  /// Whether input `i` exists.
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  /// Input `i`. Precondition: has(i).
  const Tensor& input(std::size_t i = 0) const { return *inputs[i]; }
  /// Number of dimensions of the first input.
  std::int64_t rank() const { return static_cast<std::int64_t>(input().shape.size()); }

  /// An attribute, or `default_value` if it is absent. Errors: kDataLoss (another type).
  template <class T>
  Result<T> attribute(const char* name, T default_value) const {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) return default_value;
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) return malformed("the attribute " + in_quotes(name) + " is of the wrong type");
    return *value;
  }

  /// The integers of input `i`.
  Result<List> list(std::size_t i) const {
    if (input(i).shape.size() > 1) return malformed("its input " + std::to_string(i) + " is no list");
    return integers_of(input(i));
  }

  /// The integers of an attribute, as in old opsets, or of input `i`; none if both are absent.
  Result<std::optional<List>> list(const char* name, std::size_t i) const {
    if (has(i)) {
      LANISTA_ASSIGN(List numbers, list(i));
      return std::optional(std::move(numbers));
    }
    if (!node.attributes.contains(name)) return std::optional<List>();
    LANISTA_ASSIGN(List numbers, attribute(name, List()));
    return std::optional(std::move(numbers));
  }

  /// A tensor of zeros. The budget is charged before the allocation.
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

  /// The first input in another shape with the same number of elements.
  FoldResult in_shape(List shape) const {
    if (shape.size() > kMaxRank) return malformed("a tensor has more than 64 dimensions");
    LANISTA_TRY(budget.spend(input().bytes.size()));
    Tensor result = input();
    result.shape = std::move(shape);
    return std::optional(std::move(result));
  }
};

/// Folds by the name of the ONNX operator.
using FoldTable = std::map<std::string, std::function<FoldResult(const FoldContext&)>, std::less<>>;

/// The folds that compute numbers: arithmetic, casts, ranges, constants of a shape.
FoldTable numeric_folds();

}  // namespace lanista::formats::onnx
