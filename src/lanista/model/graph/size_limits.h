#pragma once

#include <cstddef>
#include <cstdint>

namespace lanista::graph {

// Bounds on what a file may ask for. They keep every product of two attributes inside 64 bits and every id inside 32.
inline constexpr std::uint32_t kMaxNodeId = 0x7ffffffe;
inline constexpr std::size_t kMaxTextNodes = 100'000;
inline constexpr std::size_t kMaxTextInputs = 64;
inline constexpr std::size_t kMaxTextAttrs = 400'000;  ///< of all nodes together
inline constexpr std::size_t kMaxAttrs = 64;
inline constexpr std::size_t kMaxListLength = 64;
inline constexpr std::size_t kMaxStringLength = 4096;
inline constexpr std::int64_t kMaxAttrInteger = 0x7fffffff;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;  ///< of one value, per sample

}  // namespace lanista::graph
