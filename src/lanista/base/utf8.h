#pragma once

#include <cstddef>
#include <string_view>

namespace lanista {

/// Returns the index of the first byte that is not well-formed UTF-8; std::string_view::npos if all bytes are. Overlong
/// forms, surrogates and code points above U+10FFFF are not well-formed (Unicode 15, table 3-7).
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace lanista
