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

using Folded = Result<std::optional<Tensor>>;
using Inputs = std::span<const Tensor* const>;

inline const Folded kNothing{std::optional<Tensor>()};

/// One operator on constants that are there.
struct Fold {
  const OnnxNode& node;
  Inputs inputs;
  ByteBudget& budget;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const Tensor& in(std::size_t i = 0) const { return *inputs[i]; }
  std::int64_t rank() const { return static_cast<std::int64_t>(in().shape.size()); }

  template <class T>
  Result<T> attribute(const char* name, T otherwise) const {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) return otherwise;
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) return broken("the attribute " + shown(name) + " is of the wrong type");
    return *value;
  }

  /// Integers of an input.
  Result<List> list(std::size_t i) const {
    if (in(i).shape.size() > 1) return broken("its input " + std::to_string(i) + " is no list");
    return integers_of(in(i));
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
  Result<Tensor> room(ElementType type, List shape) const {
    if (shape.size() > kMaxRank) return broken("a tensor has more than 64 dimensions");
    std::int64_t bytes = static_cast<std::int64_t>(element_size(type));
    bool empty = false;
    for (const std::int64_t dim : shape) {
      if (dim < 0) return broken("a tensor has the dimension " + std::to_string(dim) + ", below 0");
      empty = empty || dim == 0;
      if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return broken("the shape overflows");
    }
    Tensor tensor{.name = {}, .type = type, .shape = std::move(shape), .bytes = {}};
    if (empty) return tensor;
    LANISTA_TRY(budget.spend(static_cast<std::size_t>(bytes)));
    tensor.bytes.resize(static_cast<std::size_t>(bytes));
    return tensor;
  }

  /// The first input in another shape of as many elements.
  Folded in_shape(List shape) const {
    if (shape.size() > kMaxRank) return broken("a tensor has more than 64 dimensions");
    LANISTA_TRY(budget.spend(in().bytes.size()));
    Tensor result = in();
    result.shape = std::move(shape);
    return std::optional(std::move(result));
  }
};

using Folds = std::map<std::string, std::function<Folded(const Fold&)>, std::less<>>;

/// Those that compute with numbers: arithmetic, casts, ranges, constants of a shape.
Folds number_folds();

}  // namespace lanista::formats::onnx
