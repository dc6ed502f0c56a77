#include "lanista/io/data/column_warnings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

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

/// The first value that is not a number, for messages. Precondition: the column has one.
std::string such_as(const Table& table, std::size_t column) {
  const std::size_t shown =
      *first_mismatch(table, column, [&](std::string_view text) { return table.number(text).has_value(); });
  return " such as \"" + std::string(table.text(shown, column).substr(0, 64)) + "\"; ";
}

/// The warning for a column of numbers with a few texts.
std::string odd_cells_warning(const Table& table, std::size_t column) {
  constexpr std::size_t kOnceIn = 10;  // a tenth of texts may be a mistake
  const auto is_number = [&](std::string_view text) { return table.number(text).has_value(); };
  const auto odd = first_mismatch(table, column, is_number);
  std::size_t present = 0, numbers = 0;
  std::set<std::string_view> different, odd_texts;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    present += text.empty() ? 0 : 1;
    if (text.empty()) continue;
    numbers += is_number(text) ? 1 : 0;
    (is_number(text) ? different : odd_texts).insert(text);
  }
  // One text among many different numbers stands for a missing one, however often. The first rules did not warn of it.
  constexpr std::size_t kManyNumbers = 20;
  const bool is_placeholder = table.notation().rules > study::kFirstRules && odd_texts.size() == 1 &&
                              different.size() >= kManyNumbers && numbers * 2 >= present;
  if (!odd || ((present - numbers) * kOnceIn > present && !is_placeholder)) return {};
  const std::string text(table.text(*odd, column).substr(0, 64));
  return std::to_string(numbers) + " of " + std::to_string(present) + " values are numbers, but " +
         table.row_location(*odd) + " holds \"" + text + "\"; correct it, or missing=" + escaped(text) +
         " if it means that there is no value, or categorical=" + column_in_option(table.header(), column) +
         " if the numbers are categories";
}

/// Removes digits from the front and returns their number.
std::size_t consume_digits(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end;
}

/// Whether all numbers are whole and differ; NaN is no whole number.
bool are_different_whole_numbers(std::vector<double> numbers) {
  if (!std::ranges::all_of(numbers, [](double x) { return x == std::floor(x); })) return false;
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) == numbers.end();
}

/// Whether a column is called "id", or its name ends with that as a word: "customer_id", "PassengerId".
bool is_identifier_name(std::string_view name) {
  if (name.size() < 2) return false;
  const std::string_view end = name.substr(name.size() - 2);
  const char before = name.size() > 2 ? name[name.size() - 3] : ' ';
  const bool is_new_word = before == ' ' || before == '_' || before == '-' || before == '.';
  if (end == "id") return is_new_word;
  return (end == "Id" || end == "ID") && (is_new_word || (before >= 'a' && before <= 'z'));
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

std::string decimal_warning(const Table& table, std::size_t column) {
  if (table.notation().decimal != 0) return {};
  const bool point = written_with(table, column, '.'), comma = written_with(table, column, ',');
  if (!point && !comma) return {};
  return "these look like numbers" + such_as(table, column) +
         (point && comma ? "decimal=. or decimal=, declares how they are read"
          : point        ? "decimal=. reads them"
                         : "decimal=, reads them");
}

std::string text_column_warning(const Table& table, std::size_t column) {
  if (std::string warning = decimal_warning(table, column); !warning.empty()) return warning;
  const std::string such = such_as(table, column);
  if (!first_mismatch(table, column, [](std::string_view text) { return parse_date(text).has_value(); })) {
    return "these look like dates" + such + "dates=" + column_in_option(table.header(), column) + " reads them";
  }
  if (table.notation().rules > study::kFirstRules) {
    if (!first_mismatch(table, column, is_slash_date)) {
      return "these look like dates" + such + "day and month have no known order: write them as 2024-01-31, or drop=" +
             column_in_option(table.header(), column) + " leaves the column out";
    }
    if (!first_mismatch(table, column, has_number_with_text)) {
      return "these look like numbers with a text around them" + such +
             "write the numbers alone, or drop=" + column_in_option(table.header(), column) + " leaves the column out";
    }
  }
  return odd_cells_warning(table, column);
}

std::string identifier_warning(const Table& table, std::size_t column, std::int64_t present, std::int64_t unique) {
  constexpr std::int64_t kFewest = 20;
  if (table.notation().rules == study::kFirstRules || present < kFewest || unique < present) return {};
  return "all " + std::to_string(present) +
         " values differ, as those of an identifier do; drop=" + column_in_option(table.header(), column) +
         " leaves the column out";
}

std::string counter_warning(const Table& table, std::size_t column, const std::vector<double>& numbers) {
  constexpr std::size_t kFewest = 20;
  constexpr std::array<std::string_view, 4> kOfIndices{"", "index", "level_0", "rownames"};
  if (table.notation().rules == study::kFirstRules || numbers.empty()) return {};
  const std::string& name = table.header()[column];
  const std::string option = column_in_option(table.header(), column);
  if (name.empty() && std::ranges::all_of(numbers, [](double x) { return std::isnan(x); })) {
    return "it holds no value, as after a separator at the end of each line; drop=" + option + " leaves it out";
  }
  const double first = numbers.front() - static_cast<double>(table.row_in_file(0));
  bool counts = first == 0 || first == 1;
  for (std::size_t row = 0; counts && row < numbers.size(); ++row) {
    counts = numbers[row] == first + static_cast<double>(table.row_in_file(row));
  }
  const bool has_index_name = std::ranges::find(kOfIndices, name) != kOfIndices.end() || name.starts_with("Unnamed: ");
  const bool all_differ = (has_index_name || is_identifier_name(name)) && are_different_whole_numbers(numbers);
  const bool is_index = has_index_name && numbers.size() > 1 && (counts || all_differ);
  const bool is_identifier = numbers.size() >= kFewest && (counts || all_differ);
  if (!is_index && !is_identifier) return {};
  return std::string(counts ? "it counts the rows" : "each row has another whole number") +
         (counts || is_index ? ", as the index that pandas writes" : ", as an identifier has") +
         ", so that a model may learn the order of the file; drop=" + option + " leaves it out, numeric=" + option +
         " keeps it without this warning";
}

std::string case_warning(const std::vector<std::string>& names) {
  const auto lower = [](std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  };
  std::map<std::string, const std::string*> first;
  std::string pairs;
  std::size_t count = 0;
  constexpr std::size_t kShown = 4;
  for (const std::string& name : names) {
    const auto [it, is_new] = first.emplace(lower(name), &name);
    if (is_new || ++count > kShown) continue;
    pairs += (pairs.empty() ? "\"" : ", \"") + *it->second + "\" and \"" + name + "\"";
  }
  if (count == 0) return {};
  const std::string more = count > kShown ? " and " + std::to_string(count - kShown) + " more pairs" : "";
  return pairs + more + " differ in upper and lower case alone; write them alike if they mean the same";
}

std::string code_column_warning(const Table& table, std::size_t column) {
  const auto plain = [](std::string_view text) {
    return text.size() < 2 || text[0] != '0' || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto code = first_mismatch(table, column, plain);
  if (!code) return {};
  return "numbers such as \"" + std::string(table.text(*code, column).substr(0, 64)) +
         "\" look like codes; categorical=" + column_in_option(table.header(), column) + " takes them as such";
}

}  // namespace lanista::data
