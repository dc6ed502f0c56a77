#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxNpyHeader = std::size_t{1} << 20;
inline constexpr std::size_t kMaxNpyRank = 32;

/// What the header of a .npy file says.
struct NpyHeader {
  std::string descr;  ///< "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header's text, a Python dictionary of three entries, by a grammar of its own: nothing is evaluated.
/// Errors: kDataLoss with the position in the text; kUnimplemented for structured dtypes.
Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace lanista::formats
