#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lanista {

/// The type of the elements of a tensor.
enum class ElementType { kF32, kF64, kI32, kI64, kU8 };
/// Bytes of one element.
std::size_t element_size(ElementType type);

/// A named, dense, row-major array in canonical (PyTorch, ONNX) dimension order. It owns its bytes. Modules,
/// checkpoints and other tools exchange weights in this form.
struct Tensor {
  std::string name;                     ///< unique in its file or model
  ElementType type = ElementType::kF32; ///< of each element
  std::vector<std::int64_t> shape;      ///< empty: a scalar
  std::vector<std::byte> bytes;         ///< the elements in native byte order

  std::int64_t elements() const;  ///< the product of the shape
  bool operator==(const Tensor&) const = default;
};

/// The elements as T. A T that does not match the type is a bug.
template <class T>
std::span<const T> elements_of(const Tensor& tensor);
template <class T>
std::span<T> elements_of(Tensor& tensor);

}  // namespace lanista
