#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanista::formats {

/// A text as one cell of RFC 4180. One that a spreadsheet would take for a formula (it begins with = + - @, a tab or a
/// carriage return) gets an apostrophe in front and stands in quotes.
std::string csv_cell(std::string_view text);

/// The shortest text that reads back as the same number; "nan", "inf", "-inf" are data.
std::string csv_cell(double value);

/// Appends a row of finished cells; rows end in CR LF.
void add_csv_row(std::string& out, const std::vector<std::string>& cells);

}  // namespace lanista::formats
