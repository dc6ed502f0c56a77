// CSV tables: a table with each cell quoted anew reads as the same table.
#include "lanista/base/csv.h"

#include "fuzz.h"

namespace {

// Appends the cell in quotes, after a comma if it is not the first of its row.
void append_quoted(std::string_view cell, bool first, std::string& text) {
  text += first ? "\"" : ",\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  text += '"';
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const auto table = formats::parse_csv(fuzz::as_text(data, size));
  if (!table) return 0;
  std::string text;
  for (std::size_t c = 0; c < table->columns(); ++c) append_quoted(table->header()[c], c == 0, text);
  text += '\n';
  for (std::size_t r = 0; r < table->rows(); ++r, text += '\n') {
    for (std::size_t c = 0; c < table->columns(); ++c) append_quoted(table->cell(r, c), c == 0, text);
  }
  const auto again = formats::parse_csv(text, {.separator = ',', .header = true});
  LANISTA_CHECK(again.ok(), "a table cannot be read again: " + again.error().text());
  LANISTA_CHECK(again->header() == table->header() && again->rows() == table->rows(), "a table changes its form");
  for (std::size_t r = 0; r < table->rows(); ++r) {
    for (std::size_t c = 0; c < table->columns(); ++c) {
      LANISTA_CHECK(again->cell(r, c) == table->cell(r, c), "a cell changes");
    }
  }
  return 0;
}
