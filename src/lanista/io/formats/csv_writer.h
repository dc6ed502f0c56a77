#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanista::formats {

/// A text as one cell of RFC 4180. A text that a spreadsheet would read as a formula (it begins with = + - @, a tab or
/// a carriage return) gets an apostrophe in front and quotes around it.
std::string csv_cell(std::string_view text);

/// The shortest text that reads back as the same number; "nan", "inf" and "-inf" are allowed.
std::string csv_cell(double value);

/// Appends a row of cells that csv_cell() returned. Rows end in CR LF.
void add_csv_row(std::string& out, const std::vector<std::string>& cells);

}  // namespace lanista::formats
