#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lanista {

// The gate for text of others (names, messages, whatever stands in a file) on its way to a terminal.

/// `text` as one line: what would steer a terminal or a reader's eye (controls, C1 ones included, line and paragraph
/// separators, marks that turn the direction of writing) and bytes that are no UTF-8 become '?'.
std::string printable(std::string_view text);

/// The same, line by line; lines above `max_columns` and those behind `max_lines` are cut, which is said.
std::string printable_lines(std::string_view text, std::size_t max_lines = std::string::npos,
                            std::size_t max_columns = std::string::npos);

/// Columns that a printable text takes on a terminal: two for wide characters (East Asian ones, emoji), none for
/// combining marks (Unicode 15, the common ranges of both).
std::size_t display_width(std::string_view text);

}  // namespace lanista
