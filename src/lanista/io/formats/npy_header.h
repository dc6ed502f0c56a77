#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxNpyHeader = std::size_t{1} << 20;  ///< largest header in bytes
inline constexpr std::size_t kMaxNpyRank = 32;                      ///< largest number of dimensions of an array

/// The header of a NumPy .npy file.
struct NpyHeader {
  std::string descr;                ///< dtype of elements as in the file: "<f4"
  bool fortran_order = false;       ///< true: the first index varies fastest
  std::vector<std::int64_t> shape;  ///< dimensions; empty: a scalar
};

/// The header in its text, a Python dictionary of three entries, by a small grammar. Nothing is evaluated. Errors:
/// kDataLoss with the position in the text; kUnimplemented for structured dtypes.
Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace lanista::formats
