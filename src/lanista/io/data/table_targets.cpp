// Targets of a table, and weights of rows.
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lanista/io/data/table.h"

namespace lanista::data {
namespace {

constexpr std::size_t kMaxIntegerClasses = 20;
constexpr std::size_t kMaxClasses = 10'000;

Error target_column_error(const std::string& column, const std::string& message) {
  return {Code::kDataLoss, "csv: column \"" + column + "\": " + message, ""};
}

std::string quoted_text(std::string_view text) { return "\"" + std::string(text.substr(0, 64)) + "\""; }

Error missing_target_error(const Table& table, std::size_t column, std::size_t row) {
  return target_column_error(table.header()[column], "the target of " + table.row_location(row) + " is missing");
}

/// Sorted class names; numbers are compared as numbers, so that 10 comes after 9.
std::vector<std::string> sorted_classes(const Table& table, const std::set<std::string_view>& found, bool numeric) {
  std::vector<std::string> names(found.begin(), found.end());
  if (numeric) {
    std::sort(names.begin(), names.end(),
              [&](const std::string& a, const std::string& b) { return *table.number(a) < *table.number(b); });
  }
  return names;
}

/// Whether a cell means that a row has a label; none if it means neither.
std::optional<bool> label_of(const Table& table, std::string_view text) {
  if (const auto number = table.number(text)) {
    return *number == 0 || *number == 1 ? std::optional(*number == 1) : std::nullopt;
  }
  std::string word(text);
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::array<std::pair<std::string_view, bool>, 4> kWords{
      {{"true", true}, {"yes", true}, {"false", false}, {"no", false}}};
  for (const auto& [known, value] : kWords) {
    if (word == known) return value;
  }
  return std::nullopt;
}

/// The cells of several columns row by row, as `value(column, row, text)` returns them; zeros in the rows `unknown`
/// (ascending).
template <class Value>
Result<std::vector<float>> cells_of(const Table& table, const std::vector<std::size_t>& columns,
                                    const std::vector<std::size_t>& unknown, Value value) {
  std::vector<float> out;
  out.reserve(table.rows() * columns.size());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (std::ranges::binary_search(unknown, row)) {
      out.insert(out.end(), columns.size(), 0.0F);
      continue;
    }
    for (const std::size_t column : columns) {
      const auto text = table.text(row, column);
      if (text.empty()) return missing_target_error(table, column, row);
      LANISTA_ASSIGN(const float number, value(column, row, text));
      out.push_back(number);
    }
  }
  return out;
}

Result<std::vector<float>> numbers_in(const Table& table, const std::vector<std::size_t>& columns,
                                      const std::string& hint = "", const std::vector<std::size_t>& unknown = {}) {
  return cells_of(table, columns, unknown,
                  [&](std::size_t column, std::size_t row, std::string_view text) -> Result<float> {
                    if (const auto number = table.number(text)) return static_cast<float>(*number);
                    Error error = not_a_number_error(table.header()[column], table.row_location(row), text);
                    error.message += hint;
                    return error;
                  });
}

Result<std::vector<float>> labels_in(const Table& table, const std::vector<std::size_t>& columns,
                                     const std::vector<std::size_t>& unknown = {}) {
  return cells_of(table, columns, unknown,
                  [&](std::size_t column, std::size_t row, std::string_view text) -> Result<float> {
                    if (const auto label = label_of(table, text)) return *label ? 1.0F : 0.0F;
                    return target_column_error(table.header()[column],
                                               table.row_location(row) + " holds " + quoted_text(text) +
                                                   ", which is no label; labels are 0 or 1, false or true, no or yes");
                  });
}

/// Reads labels if all cells are, unless `task` is numbers.
Result<TableTarget> read_multiple_targets(const Table& table, const std::vector<std::size_t>& columns,
                                          const std::string& task) {
  TableTarget target{.names = {}, .labels = {}, .numbers = {}, .unknown = {}};
  if (task == "classes") {
    return Error{Code::kInvalidArgument,
                 "csv: task=classes is of one target, there are " + std::to_string(columns.size()) +
                     "; several are numbers or multilabel (0 and 1)",
                 ""};
  }
  if (task != "numbers") {
    auto labels = labels_in(table, columns);
    if (!labels && task == "multilabel") return labels.error();
    target.multilabel = labels.ok();
    if (labels) target.numbers = *std::move(labels);
  }
  if (!target.multilabel) {
    const std::string hint = task == "auto" ? "; several targets are numbers, or labels: 0 and 1 in all of them" : "";
    LANISTA_ASSIGN(target.numbers, numbers_in(table, columns, hint));
  }
  return target;
}

Result<TableTarget> read_single_target(const Table& table, std::size_t column, const std::string& task) {
  const std::string& name = table.header()[column];
  std::set<std::string_view> found;
  bool numeric = true, whole = true;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    if (text.empty()) return missing_target_error(table, column, row);
    const auto number = table.number(text);
    if (!number && task == "numbers") return not_a_number_error(name, table.row_location(row), text);
    numeric &= number.has_value();
    whole &= number && *number == std::floor(*number);
    if (found.size() <= kMaxClasses) found.insert(text);
  }

  TableTarget target;
  const bool classes =
      task == "classes" || (task == "auto" && (!numeric || (whole && found.size() <= kMaxIntegerClasses)));
  if (!classes) {
    LANISTA_ASSIGN(target.numbers, numbers_in(table, {column}));
    return target;
  }
  if (found.size() > kMaxClasses)
    return target_column_error(name, "more than " + std::to_string(kMaxClasses) + " classes");
  if (found.size() < 2) return target_column_error(name, "a target needs at least two classes");
  target.names = sorted_classes(table, found, numeric);
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < target.names.size(); ++i) numbers[target.names[i]] = static_cast<std::int32_t>(i);
  for (std::size_t row = 0; row < table.rows(); ++row) target.labels.push_back(numbers.at(table.text(row, column)));
  return target;
}

}  // namespace

const std::vector<std::string>& table_tasks() {
  static const std::vector<std::string> kTasks{"auto", "classes", "numbers", "multilabel"};
  return kTasks;
}

Result<TableTarget> read_target(const Table& table, const std::vector<std::size_t>& columns, const std::string& task) {
  if (columns.size() > 1 || task == "multilabel") return read_multiple_targets(table, columns, task);
  return read_single_target(table, columns.front(), task);
}

Result<std::optional<TableTarget>> read_known_target(const Table& table, const std::vector<std::size_t>& columns,
                                                     const std::vector<std::string>& names, bool multilabel) {
  TableTarget target{.names = names, .labels = {}, .numbers = {}, .multilabel = multilabel, .unknown = {}};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto is_empty = [&](std::size_t column) { return table.text(row, column).empty(); };
    if (std::ranges::any_of(columns, is_empty)) target.unknown.push_back(row);
  }
  if (target.unknown.size() == table.rows()) return std::optional<TableTarget>();
  if (names.empty()) {
    LANISTA_ASSIGN(target.numbers, multilabel ? labels_in(table, columns, target.unknown)
                                              : numbers_in(table, columns, "", target.unknown));
    return std::optional(std::move(target));
  }
  const std::size_t column = columns.front();
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers[names[i]] = static_cast<std::int32_t>(i);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    if (text.empty()) {
      target.labels.push_back(0);
      continue;
    }
    const auto it = numbers.find(text);
    if (it == numbers.end()) {
      return target_column_error(table.header()[column], table.row_location(row) + " holds " + quoted_text(text) +
                                                             ", which is none of the " + std::to_string(names.size()) +
                                                             " classes");
    }
    target.labels.push_back(it->second);
  }
  return std::optional(std::move(target));
}

namespace {

/// Reads a finite number of at least `least` in each row; `what` names it.
Result<std::vector<float>> read_row_numbers(const Table& table, std::size_t column, const std::string& what,
                                            float least, const std::string& allowed) {
  const std::string& name = table.header()[column];
  std::vector<float> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    if (text.empty())
      return target_column_error(name, "the " + what + " of " + table.row_location(row) + " is missing");
    const auto number = table.number(text);
    if (!number) return not_a_number_error(name, table.row_location(row), text);
    const auto value = static_cast<float>(*number);
    if (!(value >= least && std::isfinite(value))) {
      return target_column_error(
          name, "the " + what + " of " + table.row_location(row) + " is " + quoted_text(text) + "; " + allowed);
    }
    out.push_back(value);
  }
  return out;
}

}  // namespace

Result<std::vector<float>> read_weights(const Table& table, std::size_t column) {
  return read_row_numbers(table, column, "weight", 0, "weights are finite numbers from 0 on");
}

}  // namespace lanista::data
