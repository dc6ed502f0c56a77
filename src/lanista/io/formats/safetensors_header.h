#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxSafetensorsHeader = std::size_t{16} << 20;
inline constexpr std::size_t kMaxSafetensorsTensors = 50'000;
inline constexpr std::size_t kMaxSafetensorsMetadata = 50'000;  ///< entries
inline constexpr std::size_t kMaxTensorRank = 64;
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

/// One entry of a header as it stands there: nothing is checked against the data yet.
struct SafetensorsEntry {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes from the beginning of the data
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of the text
  std::map<std::string, std::string> metadata;
};

/// Reads the JSON text of a header as it comes, so that a hostile one costs no more memory than it has bytes to show.
/// Errors: kDataLoss (syntax, duplicate or unknown keys, wrong kinds of values, too many tensors); kUnimplemented for
/// element types that the format has and we do not hold.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json);

}  // namespace lanista::formats
