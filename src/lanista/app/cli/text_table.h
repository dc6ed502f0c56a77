#pragma once

#include <string>
#include <vector>

namespace lanista::cli {

/// The cells of one row.
using TableRow = std::vector<std::string>;

/// Returns a table of plain text with columns as wide as their widest cell and without trailing spaces. Cells are made
/// printable. Each line begins with a space; two spaces separate columns. `is_right_aligned` has one entry a column; a
/// row has at most as many cells.
std::string text_table(const std::vector<TableRow>& rows, const std::vector<bool>& is_right_aligned);

}  // namespace lanista::cli
