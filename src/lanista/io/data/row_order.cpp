#include "lanista/io/data/row_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lanista/base/parse_number.h"

namespace lanista::data {
namespace {

Error order_error(const Table& table, std::size_t column, const std::string& message) {
  return {Code::kDataLoss, "csv: column \"" + table.header()[column] + "\": " + message, ""};
}

/// The place of each value among the different ones in ascending order, from 0.
template <class T>
std::vector<double> ranks_of(const std::vector<T>& values) {
  std::vector<T> sorted = values;
  std::ranges::sort(sorted);
  const auto same = std::ranges::unique(sorted);
  sorted.erase(same.begin(), same.end());
  std::vector<double> out;
  for (const T& value : values) {
    out.push_back(static_cast<double>(std::ranges::lower_bound(sorted, value) - sorted.begin()));
  }
  return out;
}

/// The order of the rows by a column of whole numbers; none if a cell is something else.
std::optional<std::vector<double>> ranks_of_whole_numbers(const Table& table, std::size_t column) {
  std::vector<std::int64_t> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    auto text = table.text(row, column);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto number = parse_number<std::int64_t>(text);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return ranks_of(out);
}

/// The order of the rows by a column of dates, to the nanosecond. Errors: dates with and without an offset from UTC.
Result<std::vector<double>> ranks_of_dates(const Table& table, std::size_t column) {
  std::vector<Instant> out;
  const bool offsets = parse_date(table.text(0, column))->offset_minutes.has_value();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    const auto date = parse_date(text);
    if (date->offset_minutes.has_value() != offsets) {
      const std::string with = " has an offset from UTC, ", without = " has none";
      return order_error(table, column,
                         table.row_location(offsets ? 0 : row) + with + table.row_location(offsets ? row : 0) +
                             without + " (\"" + std::string(text.substr(0, 64)) +
                             "\"); order= needs an offset in all times or in none");
    }
    out.push_back(instant_of(*date));
  }
  return ranks_of(out);
}

}  // namespace

Result<std::vector<std::int64_t>> group_numbers(const Table& table, std::size_t column) {
  std::map<std::string_view, std::int64_t> numbers;
  std::vector<std::int64_t> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    if (text.empty()) {
      return order_error(table, column, "the group of " + table.row_location(row) + " is missing");
    }
    out.push_back(numbers.emplace(text, static_cast<std::int64_t>(numbers.size())).first->second);
  }
  return out;
}

Result<std::vector<double>> times_of(const Table& table, std::size_t column) {
  std::vector<double> out;
  const bool numbers = table.number(table.text(0, column)).has_value();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    const auto number = numbers ? table.number(text) : std::nullopt;
    const auto date = numbers ? std::nullopt : parse_date(text);
    if (!number && !date) {
      return order_error(table, column,
                         table.row_location(row) + " holds \"" + std::string(text.substr(0, 64)) +
                             "\"; order= needs a number or a date in every row");
    }
    out.push_back(number ? *number : seconds_of(*date));
  }
  if (table.notation().rules == study::kFirstRules) return out;
  if (!numbers) return ranks_of_dates(table, column);
  return ranks_of_whole_numbers(table, column).value_or(out);
}

}  // namespace lanista::data
