#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lanista {

enum class ElementType { kF32, kF64, kI32, kI64, kU8 };
std::size_t element_size(ElementType type);

/// A named, dense, row-major array in canonical (PyTorch, ONNX) dimension order; owns its bytes.
/// The exchange form of weights between rooms, checkpoints and other tools.
struct Tensor {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  std::int64_t elements() const;
  bool operator==(const Tensor&) const = default;
};

/// The elements as T; a type that does not match is a bug.
template <class T>
std::span<const T> elements_of(const Tensor& tensor);
template <class T>
std::span<T> elements_of(Tensor& tensor);

}  // namespace lanista
