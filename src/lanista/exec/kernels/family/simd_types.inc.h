#pragma once
// What all vector types have in common.

#include <cstdint>
#include <type_traits>

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

/// Vectors of `kBytes` bytes of T, and those of integers of its size.
template <class T, int kBytes>
struct VectorTypes {
  using Element = T;
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T V __attribute__((vector_size(kBytes)));
  typedef Int I __attribute__((vector_size(kBytes)));
  static constexpr std::int64_t kWidth = kBytes / sizeof(T);
};

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
