#include "lanista/table.h"

#include "lanista/app/api/guarded.h"
#include "lanista/base/csv.h"

namespace lanista {
namespace {

/// A cell of RFC 4180 with its exact text: it is read again by lanista and not by a spreadsheet.
std::string quoted_cell(std::string_view text) {
  if (text.find_first_of(",;\t\"\r\n") == std::string_view::npos && !text.empty()) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void add_row(const std::vector<std::string>& cells, std::string& out) {
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) out += ',';
    out += quoted_cell(cells[c]);
  }
  out += "\r\n";
}

}  // namespace

Result<Table> parse_csv_table(std::string_view text) {
  return api::guarded([&]() -> Result<Table> {
    formats::CsvOptions options;
    options.header = true;
    LANISTA_ASSIGN(const formats::CsvTable cells, formats::parse_csv(text, options));
    Table table{cells.header(), {}};
    table.rows.reserve(cells.rows());
    for (std::size_t r = 0; r < cells.rows(); ++r) {
      auto& row = table.rows.emplace_back();
      for (std::size_t c = 0; c < cells.columns(); ++c) row.emplace_back(cells.cell(r, c));
    }
    return table;
  });
}

Result<std::string> csv_text(const Table& table) {
  if (table.columns.empty())
    return Error{Code::kInvalidArgument, "the table has no column; at least one is needed", ""};
  std::string out;
  add_row(table.columns, out);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].size() != table.columns.size()) {
      return Error{Code::kInvalidArgument,
                   "row " + std::to_string(r) + " has " + std::to_string(table.rows[r].size()) +
                       " cells; the table has " + std::to_string(table.columns.size()) + " columns",
                   ""};
    }
    add_row(table.rows[r], out);
  }
  return out;
}

}  // namespace lanista
