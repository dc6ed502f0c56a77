#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lanista {

/// The type of the elements of a tensor.
enum class ElementType { kF32, kF64, kI32, kI64, kU8 };
/// The size of one element in bytes.
std::size_t element_size(ElementType type);

/// A named, dense, row-major array in canonical (PyTorch, ONNX) dimension order. It owns its bytes. Modules,
/// checkpoints and other tools exchange weights in this form.
struct Tensor {
  std::string name;                      ///< unique in its file or model
  ElementType type = ElementType::kF32;  ///< type of each element
  std::vector<std::int64_t> shape;       ///< sizes of the dimensions; empty: a scalar
  std::vector<std::byte> bytes;          ///< the elements, row-major, in native byte order

  std::int64_t elements() const;  ///< number of elements: the product of `shape`
  bool operator==(const Tensor&) const = default;
};

/// The elements of a tensor in row-major order. A T that does not match `type`, or a size of `bytes` that does not
/// match `shape`, is a bug. The span is valid until `bytes` changes or the tensor ends.
template <class T>
std::span<const T> elements_of(const Tensor& tensor);
/// The elements of a tensor in row-major order, for writing. A T that does not match `type`, or a size of `bytes` that
/// does not match `shape`, is a bug. The span is valid until the size of `bytes` changes or the tensor ends.
template <class T>
std::span<T> elements_of(Tensor& tensor);

}  // namespace lanista
