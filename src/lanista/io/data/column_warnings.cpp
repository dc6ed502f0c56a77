#include "lanista/io/data/column_warnings.h"

#include <algorithm>
#include <optional>
#include <string_view>

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
  const CellNotation notation{.decimal = decimal, .rules = table.notation().rules};
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

/// Removes digits from the front and returns their number.
std::size_t consume_digits(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end;
}

/// Whether a text is "1/31/2024" or "31/01/24", with anything after it.
bool is_slash_date(std::string_view text) {
  for (int part = 0; part < 2; ++part) {
    const std::size_t digits = consume_digits(text);
    if (digits < 1 || digits > 2 || !text.starts_with('/')) return false;
    text.remove_prefix(1);
  }
  const std::size_t digits = consume_digits(text);
  return (digits == 2 || digits == 4) && (text.empty() || text.front() == ' ' || text.front() == 'T');
}

/// Whether a text is one number with a short word before or after it: "12 kg", "USD 5.20", "$1,000".
bool has_number_with_text(std::string_view text) {
  constexpr std::size_t kLongestWord = 4;
  constexpr std::string_view kOfNumber = "0123456789.,";
  const auto begin = text.find_first_of("0123456789"), end = text.find_last_of("0123456789");
  if (begin == std::string_view::npos || text.substr(begin, end - begin).find_first_not_of(kOfNumber) != text.npos) {
    return false;
  }
  const std::string_view before = text.substr(0, begin), after = text.substr(end + 1);
  const bool is_code = !before.empty() && before.back() != ' ' && before.find_first_of("$+-.") == before.npos &&
                       static_cast<unsigned char>(before.back()) < 0x80;
  return !is_code && before.size() <= kLongestWord + 1 && after.size() <= kLongestWord + 1;
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
  if (table.notation().rules > study::kFirstRules) {
    if (!first_mismatch(table, column, is_slash_date)) {
      return "these look like dates" + such +
             "day and month have no known order: write them as 2024-01-31, or drop=" + table.header()[column] +
             " leaves the column out";
    }
    if (!first_mismatch(table, column, has_number_with_text)) {
      return "these look like numbers with a text around them" + such +
             "write the numbers alone, or drop=" + table.header()[column] + " leaves the column out";
    }
  }
  return odd_cells_warning(table, column);
}

std::string identifier_warning(const Table& table, std::size_t column, std::int64_t present, std::int64_t unique) {
  constexpr std::int64_t kFewest = 20;
  if (table.notation().rules == study::kFirstRules || present < kFewest || unique < present) return {};
  return "all " + std::to_string(present) +
         " values differ, as those of an identifier do; drop=" + table.header()[column] + " leaves the column out";
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
