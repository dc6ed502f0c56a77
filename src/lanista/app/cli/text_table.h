#pragma once

#include <string>
#include <vector>

namespace lanista::cli {

/// The cells of one row.
using TableRow = std::vector<std::string>;

/// A table of plain text with columns as wide as their widest cell and without trailing spaces. `is_right_aligned` has
/// one entry a column.
std::string text_table(const std::vector<TableRow>& rows, const std::vector<bool>& is_right_aligned);

}  // namespace lanista::cli
