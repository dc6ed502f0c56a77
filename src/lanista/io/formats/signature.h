#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

/// The error for a file that shows a format which is never read; none for other files. `bytes` are the whole file: a
/// Parquet file shows at both ends.
///
/// Pickles (.pkl, .pt, .pth, object arrays) are refused since they run code. HDF5, Parquet and TFRecord are not
/// supported. The name of the file does not matter. The message names the format and a line of Python that converts it.
/// The code is kUnimplemented; `where` is `path`.
std::optional<Error> unsupported_format_error(std::string_view bytes, const std::string& path);

}  // namespace lanista::formats
