#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

/// Formats that are never read because they run code (pickles: .pkl, .pt, .pth, object arrays) or are not held (HDF5,
/// Parquet, TFRecord), told by their first bytes. The message names the format and a line of Python that converts it.
/// Nothing if the bytes are none of these. Code: kUnimplemented; `where` is `path`.
std::optional<Error> unsupported_format_error(std::string_view bytes, const std::string& path);

}  // namespace lanista::formats
