#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lanista {

// Text of other origin (names, messages, contents of files) passes these functions before it reaches a terminal.

/// Returns `text` as one line. A '?' replaces each character that could control a terminal or mislead a reader:
/// controls (C1 included), line and paragraph separators, invisible characters, and marks that change the direction of
/// writing. Each invalid byte of UTF-8 becomes '?' too.
std::string printable(std::string_view text);

/// Returns `text` with its line breaks; each line is made safe by printable(). A line longer than `max_columns` is cut
/// there, and "…" follows. Lines after `max_lines` are replaced by a note with their number.
std::string printable_lines(std::string_view text, std::size_t max_lines = std::string::npos,
                            std::size_t max_columns = std::string::npos);

/// Returns the columns that a printable text needs on a terminal: two for wide characters (East Asian ones, emoji),
/// none for combining marks, one for others (Unicode 15, the common ranges).
std::size_t display_width(std::string_view text);

}  // namespace lanista
