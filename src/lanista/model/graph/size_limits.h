#pragma once

#include <cstddef>
#include <cstdint>

namespace lanista::graph {

// Inclusive limits for graphs from files. They keep products of two attributes inside 64 bits and ids inside 32 bits.

inline constexpr std::uint32_t kMaxNodeId = 0x7ffffffe;              ///< Largest node id.
inline constexpr std::size_t kMaxTextNodes = 100'000;                ///< Most nodes of a graph in text form.
inline constexpr std::size_t kMaxTextInputs = 64;                    ///< Most inputs of one node.
inline constexpr std::size_t kMaxTextAttrs = 400'000;                ///< Most attributes of a graph in text form.
inline constexpr std::size_t kMaxAttrs = 64;                         ///< Most attributes of one node.
inline constexpr std::size_t kMaxListLength = 64;                    ///< Most elements of a list attribute.
inline constexpr std::size_t kMaxStringLength = 4096;                ///< Most bytes of a string attribute or label.
inline constexpr std::int64_t kMaxAttrInteger = 0x7fffffff;          ///< Largest integer in an attribute.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;  ///< Most elements of a value for one sample.

}  // namespace lanista::graph
