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

// What the folds of constants are written with.
namespace lanista::formats::onnx {

using FoldResult = Result<std::optional<Tensor>>;
using Inputs = std::span<const Tensor* const>;

inline const FoldResult kNotFolded{std::optional<Tensor>()};

/// One operator on constants that are there.
struct FoldContext {
  const OnnxNode& node;
  Inputs inputs;
  ByteBudget& budget;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Tensor& input(std::size_t i = 0) const { return *inputs[i]; }
  std::int64_t rank() const { return static_cast<std::int64_t>(input().shape.size()); }

  template <class T>
  Result<T> attribute(const char* name, T default_value) const {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) return default_value;
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) return malformed("the attribute " + in_quotes(name) + " is of the wrong type");
    return *value;
  }

  /// Integers of an input.
  Result<List> list(std::size_t i) const {
    if (input(i).shape.size() > 1) return malformed("its input " + std::to_string(i) + " is no list");
    return integers_of(input(i));
  }

  /// Integers of an attribute, as old opsets have them, or of an input.
  Result<std::optional<List>> list(const char* name, std::size_t i) const {
    if (has(i)) {
      LANISTA_ASSIGN(List numbers, list(i));
      return std::optional(std::move(numbers));
    }
    if (!node.attributes.contains(name)) return std::optional<List>();
    LANISTA_ASSIGN(List numbers, attribute(name, List()));
    return std::optional(std::move(numbers));
  }

  /// Zeros of this shape, paid for before they are allocated.
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

  /// The first input in another shape of as many elements.
  FoldResult in_shape(List shape) const {
    if (shape.size() > kMaxRank) return malformed("a tensor has more than 64 dimensions");
    LANISTA_TRY(budget.spend(input().bytes.size()));
    Tensor result = input();
    result.shape = std::move(shape);
    return std::optional(std::move(result));
  }
};

using FoldTable = std::map<std::string, std::function<FoldResult(const FoldContext&)>, std::less<>>;

/// Those that compute with numbers: arithmetic, casts, ranges, constants of a shape.
FoldTable numeric_folds();

}  // namespace lanista::formats::onnx
