#pragma once

#include <cstddef>
#include <string_view>

namespace lanista {

/// Where the first byte stands that is not part of well-formed UTF-8 (no overlong forms, no surrogates, nothing above
/// U+10FFFF; Unicode 15, table 3-7); npos if all of it is.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace lanista
