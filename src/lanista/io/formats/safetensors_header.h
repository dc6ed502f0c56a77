#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/formats/element_table.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxSafetensorsHeader = std::size_t{16} << 20;  ///< largest header in bytes
inline constexpr std::size_t kMaxSafetensorsTensors = 50'000;                ///< largest number of tensors
inline constexpr std::size_t kMaxSafetensorsMetadata = 50'000;               ///< largest number of entries
inline constexpr std::size_t kMaxTensorRank = 64;                            ///< largest number of dimensions
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";     ///< key of the metadata in the header

/// The names of the element types that Tensor has.
inline constexpr ElementTable<std::string_view> kSafetensorsTypes{{{ElementType::kF32, "F32"},
                                                                   {ElementType::kF64, "F64"},
                                                                   {ElementType::kI32, "I32"},
                                                                   {ElementType::kI64, "I64"},
                                                                   {ElementType::kU8, "U8"}}};

/// The entry of one tensor in a header. It is not checked against the data.
struct SafetensorsEntry {
  std::string name;                      ///< name of the tensor
  ElementType type = ElementType::kF32;  ///< type of its elements
  std::vector<std::int64_t> shape;       ///< its dimensions
  std::uint64_t begin = 0, end = 0;      ///< first and end byte, from the beginning of the data
};

/// A parsed header of a safetensors file.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        ///< in the order of the text
  std::map<std::string, std::string> metadata;  ///< text values by key
};

/// The header in its JSON text. It is parsed in one pass, so that it needs no more memory than the text has bytes.
/// Errors: kDataLoss (syntax, duplicate or unknown keys, wrong kinds of values, too many tensors); kUnimplemented for
/// element types of the format that Tensor does not have.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json);

}  // namespace lanista::formats
