#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxSafetensorsHeader = std::size_t{16} << 20;  ///< bytes of a header that is read
inline constexpr std::size_t kMaxSafetensorsTensors = 50'000;                ///< tensors of a file
inline constexpr std::size_t kMaxSafetensorsMetadata = 50'000;               ///< entries of metadata
inline constexpr std::size_t kMaxTensorRank = 64;                            ///< dimensions of a tensor
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";     ///< key of the metadata in the header

/// One entry of a header. It is not checked against the data.
struct SafetensorsEntry {
  std::string name;                      ///< of the tensor
  ElementType type = ElementType::kF32;  ///< of its elements
  std::vector<std::int64_t> shape;       ///< its dimensions
  std::uint64_t begin = 0, end = 0;      ///< bytes from the beginning of the data
};

/// A parsed header.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        ///< in the order of the text
  std::map<std::string, std::string> metadata;  ///< texts by key
};

/// Reads the JSON text of a header in one pass, so that it needs no more memory than the text has bytes.
/// Errors: kDataLoss (syntax, duplicate or unknown keys, wrong kinds of values, too many tensors); kUnimplemented for
/// element types of the format that Tensor does not have.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json);

}  // namespace lanista::formats
