#include "lanista/io/data/column_warnings.h"

#include <algorithm>
#include <optional>

namespace lanista::data {
namespace {

/// The first row with a value that `fits` refuses, or none.
template <class F>
std::optional<std::size_t> first_mismatch(const Table& table, std::size_t column, F&& fits) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    if (!text.empty() && !fits(text)) return row;
  }
  return std::nullopt;
}

bool written_with(const Table& table, std::size_t column, char decimal) {
  const CellNotation notation{.decimal = decimal};
  return !first_mismatch(table, column, [&](std::string_view text) { return notation.number(text).has_value(); });
}

/// The warning for a column of numbers with a few texts.
std::string odd_cells_warning(const Table& table, std::size_t column) {
  constexpr std::size_t kOnceIn = 10;  // a tenth of texts may be a mistake
  const auto is_number = [&](std::string_view text) { return table.number(text).has_value(); };
  const auto odd = first_mismatch(table, column, is_number);
  std::size_t present = 0, numbers = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    present += text.empty() ? 0 : 1;
    numbers += !text.empty() && is_number(text) ? 1 : 0;
  }
  if (!odd || (present - numbers) * kOnceIn > present) return {};
  const std::string text(table.text(*odd, column).substr(0, 64));
  return std::to_string(numbers) + " of " + std::to_string(present) + " values are numbers, but " +
         table.row_location(*odd) + " holds \"" + text + "\"; correct it, or missing=" + text +
         " if it means that there is no value, or categorical=" + table.header()[column] +
         " if the numbers are categories";
}

}  // namespace

std::string text_column_warning(const Table& table, std::size_t column) {
  const std::size_t shown =
      *first_mismatch(table, column, [&](std::string_view text) { return table.number(text).has_value(); });
  const std::string such = " such as \"" + std::string(table.text(shown, column).substr(0, 64)) + "\"; ";
  if (table.notation().decimal == 0) {
    const bool point = written_with(table, column, '.'), comma = written_with(table, column, ',');
    if (point || comma) {
      return "these look like numbers" + such +
             (point && comma ? "decimal=. or decimal=, declares how they are read"
              : point        ? "decimal=. reads them"
                             : "decimal=, reads them");
    }
  }
  if (!first_mismatch(table, column, [](std::string_view text) { return parse_date(text).has_value(); })) {
    return "these look like dates" + such + "dates=" + table.header()[column] + " reads them";
  }
  return odd_cells_warning(table, column);
}

std::string code_column_warning(const Table& table, std::size_t column) {
  const auto plain = [](std::string_view text) {
    return text.size() < 2 || text[0] != '0' || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto code = first_mismatch(table, column, plain);
  if (!code) return {};
  return "numbers such as \"" + std::string(table.text(*code, column).substr(0, 64)) +
         "\" look like codes; categorical=" + table.header()[column] + " takes them as such";
}

}  // namespace lanista::data
