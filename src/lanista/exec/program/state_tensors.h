#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lanista/base/tensor.h"

// Helpers for tensors that leave a state.
namespace lanista::program {

/// The element type of a Tensor with values of type T: kF32 for float, else kF64.
template <class T>
inline constexpr ElementType kRealType = std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kF64;

/// Returns a zeroed tensor of this name, type and shape.
inline Tensor make_tensor(std::string name, ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor{.name = std::move(name), .type = type, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * element_size(type));
  return tensor;
}

}  // namespace lanista::program
