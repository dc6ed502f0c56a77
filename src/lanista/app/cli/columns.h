#pragma once

#include <string>
#include <vector>

namespace lanista::cli {

using Row = std::vector<std::string>;

/// A table of plain text: columns as wide as their widest cell, numbers (right[i]) flush right, nothing trailing.
std::string columns(const std::vector<Row>& rows, const std::vector<bool>& right);

}  // namespace lanista::cli
