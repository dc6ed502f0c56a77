#include "lanista/app/cli/text_table.h"

#include <algorithm>

#include "lanista/base/printable.h"

namespace lanista::cli {

std::string text_table(const std::vector<TableRow>& rows, const std::vector<bool>& is_right_aligned) {
  std::vector<std::size_t> width(is_right_aligned.size(), 0);
  std::vector<TableRow> shown = rows;
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
      line += (i == 0 ? " " : "  ") + (is_right_aligned[i] ? fill + row[i] : row[i] + fill);
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

}  // namespace lanista::cli
