#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxNpyHeader = std::size_t{1} << 20;  ///< bytes of a header that is read
inline constexpr std::size_t kMaxNpyRank = 32;                      ///< dimensions of an array that is read

/// The header of a .npy file.
struct NpyHeader {
  std::string descr;                ///< the dtype: "<f4"
  bool fortran_order = false;       ///< whether the first index varies fastest
  std::vector<std::int64_t> shape;  ///< empty: a scalar
};

/// Reads the text of a header, a Python dictionary of three entries, by a small grammar. Nothing is evaluated.
/// Errors: kDataLoss with the position in the text; kUnimplemented for structured dtypes.
Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace lanista::formats
