#pragma once

#include <string>
#include <vector>

namespace lanista::cli {

using TableRow = std::vector<std::string>;

/// A table of plain text: columns as wide as their widest cell, numbers (right[i]) flush right, nothing trailing.
std::string text_table(const std::vector<TableRow>& rows, const std::vector<bool>& is_right_aligned);

}  // namespace lanista::cli
