#include "lanista/app/cli/columns.h"

#include <algorithm>

#include "lanista/base/printable.h"

namespace lanista::cli {

std::string columns(const std::vector<Row>& rows, const std::vector<bool>& right) {
  std::vector<std::size_t> width(right.size(), 0);
  std::vector<Row> shown = rows;
  for (auto& row : shown) {
    for (auto& cell : row) cell = printable(cell);
  }
  for (const auto& row : shown) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : shown) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(width[i] - display_width(row[i]), ' ');
      line += (i == 0 ? " " : "  ") + (right[i] ? fill + row[i] : row[i] + fill);
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

}  // namespace lanista::cli
