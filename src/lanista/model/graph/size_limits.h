#pragma once

#include <cstddef>
#include <cstdint>

namespace lanista::graph {

// Limits for graphs from files. They keep every product of two attributes inside 64 bits and every id inside 32 bits.

inline constexpr std::uint32_t kMaxNodeId = 0x7ffffffe;              ///< Largest node id.
inline constexpr std::size_t kMaxTextNodes = 100'000;                ///< Nodes of a text.
inline constexpr std::size_t kMaxTextInputs = 64;                    ///< Inputs of one node.
inline constexpr std::size_t kMaxTextAttrs = 400'000;                ///< Attributes of all nodes of a text.
inline constexpr std::size_t kMaxAttrs = 64;                         ///< Attributes of one node.
inline constexpr std::size_t kMaxListLength = 64;                    ///< Elements of a list attribute.
inline constexpr std::size_t kMaxStringLength = 4096;                ///< Bytes of a string attribute.
inline constexpr std::int64_t kMaxAttrInteger = 0x7fffffff;          ///< Largest integer in an attribute.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;  ///< Elements of one value for one sample.

}  // namespace lanista::graph
