#include "lanista/base/tensor.h"

#include <type_traits>

#include "lanista/base/check.h"

namespace lanista {
namespace {

template <class T>
constexpr ElementType type_of() {
  if constexpr (std::is_same_v<T, float>) {
    return ElementType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ElementType::kF64;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return ElementType::kI32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return ElementType::kI64;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>);
    return ElementType::kU8;
  }
}

template <class T>
void check_fits(const Tensor& tensor) {
  LANISTA_CHECK(tensor.type == type_of<T>(), "tensor '" + tensor.name + "' is read as another element type");
  LANISTA_CHECK(tensor.bytes.size() == static_cast<std::size_t>(tensor.elements()) * sizeof(T),
                "tensor '" + tensor.name + "' has " + std::to_string(tensor.bytes.size()) + " bytes for " +
                    std::to_string(tensor.elements()) + " elements");
}

}  // namespace

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kF32:
    case ElementType::kI32:
      return 4;
    case ElementType::kF64:
    case ElementType::kI64:
      return 8;
    case ElementType::kU8:
      return 1;
  }
  LANISTA_CHECK(false, "unknown element type");
  return 0;
}

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

// A vector of bytes comes from operator new, which aligns for every element type above.
template <class T>
std::span<const T> elements_of(const Tensor& tensor) {
  check_fits<T>(tensor);
  return {reinterpret_cast<const T*>(tensor.bytes.data()), static_cast<std::size_t>(tensor.elements())};
}

template <class T>
std::span<T> elements_of(Tensor& tensor) {
  check_fits<T>(tensor);
  return {reinterpret_cast<T*>(tensor.bytes.data()), static_cast<std::size_t>(tensor.elements())};
}

template std::span<const float> elements_of(const Tensor&);
template std::span<const double> elements_of(const Tensor&);
template std::span<const std::int32_t> elements_of(const Tensor&);
template std::span<const std::int64_t> elements_of(const Tensor&);
template std::span<const std::uint8_t> elements_of(const Tensor&);
template std::span<float> elements_of(Tensor&);
template std::span<double> elements_of(Tensor&);
template std::span<std::int32_t> elements_of(Tensor&);
template std::span<std::int64_t> elements_of(Tensor&);
template std::span<std::uint8_t> elements_of(Tensor&);

}  // namespace lanista
