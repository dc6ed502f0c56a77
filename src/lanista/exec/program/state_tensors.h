#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lanista/base/tensor.h"

// Tensors of a state on their way out.
namespace lanista::nn {

template <class T>
inline constexpr ElementType kRealType = std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kF64;

inline Tensor make_tensor(std::string name, ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor{.name = std::move(name), .type = type, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * element_size(type));
  return tensor;
}

}  // namespace lanista::nn
