#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanista::formats {

/// A text as one cell of RFC 4180, in quotes if it needs them. A text that a spreadsheet would read as a formula (it
/// begins with = + - @, a tab or a carriage return) gets an apostrophe in front and quotes around it. A number with a
/// sign is no formula and stays as it is.
std::string csv_cell(std::string_view text);

/// A number as one cell: the shortest text that reads back with the same bits, or "nan", "inf", "-inf".
std::string csv_cell(double value);

/// Appends a row to `out`: cells from csv_cell(), with commas between them and CR LF at the end.
void add_csv_row(std::string& out, const std::vector<std::string>& cells);

}  // namespace lanista::formats
