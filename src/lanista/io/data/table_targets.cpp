// Targets of a table, and weights of rows.
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "lanista/io/data/label_kinds.h"
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
                    if (const auto number = table.number(text)) {
                      if (std::isfinite(static_cast<float>(*number))) return static_cast<float>(*number);
                      return beyond_float_error(table.header()[column], table.row_location(row), text);
                    }
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

/// The column of the single one in each row of labels [rows, columns]; none if a row has another number of ones, or a
/// column has none.
std::optional<std::vector<std::int32_t>> one_hot_classes(const std::vector<float>& labels, std::size_t columns) {
  std::vector<std::int32_t> out;
  std::vector<bool> seen(columns);
  for (std::size_t begin = 0; begin < labels.size(); begin += columns) {
    const auto row = std::span(labels).subspan(begin, columns);
    if (std::ranges::count(row, 1.0F) != 1) return std::nullopt;
    const auto at = std::ranges::find(row, 1.0F) - row.begin();
    seen[static_cast<std::size_t>(at)] = true;
    out.push_back(static_cast<std::int32_t>(at));
  }
  if (std::ranges::count(seen, false) > 0) return std::nullopt;
  return out;
}

/// Reads labels if all cells are, unless `task` is numbers.
Result<TableTarget> read_multiple_targets(const Table& table, const std::vector<std::size_t>& columns,
                                          const std::string& task) {
  TableTarget target{.names = {}, .labels = {}, .numbers = {}, .unknown = {}};
  const bool may_be_one_hot = table.notation().rules > study::kFirstRules && columns.size() > 1;
  if (may_be_one_hot && (task == "auto" || task == "classes")) {
    const auto labels = labels_in(table, columns);
    auto classes = labels ? one_hot_classes(*labels, columns.size()) : std::nullopt;
    if (classes) {
      target.labels = *std::move(classes);
      for (const std::size_t column : columns) target.names.push_back(table.header()[column]);
      if (task == "auto") target.decision = label_rows_text(columns.size(), true);
      return target;
    }
  }
  if (task == "classes") {
    return Error{Code::kInvalidArgument,
                 "csv: task=classes is of one target, there are " + std::to_string(columns.size()) +
                     "; several are numbers or multilabel (0 and 1)" +
                     (may_be_one_hot ? ", or classes with a single 1 in each row" : ""),
                 ""};
  }
  if (task != "numbers") {
    auto labels = labels_in(table, columns);
    if (!labels && task == "multilabel") return labels.error();
    target.multilabel = labels.ok();
    if (labels) target.numbers = *std::move(labels);
    if (labels && task == "auto") target.decision = label_rows_text(columns.size(), false);
  }
  if (!target.multilabel) {
    const std::string hint = task == "auto" ? "; several targets are numbers, or labels: 0 and 1 in all of them" : "";
    LANISTA_ASSIGN(target.numbers, numbers_in(table, columns, hint));
  }
  return target;
}

/// A number by its value. Whole numbers beyond 2^53, which a double rounds, are compared by their digits.
struct NumberKey {
  double value = 0;
  std::int64_t exact = 0;

  auto operator<=>(const NumberKey&) const = default;
};

NumberKey key_of(std::string_view text, double value) {
  constexpr double kExact = 9007199254740992.0;
  NumberKey key{value, 0};
  if (std::abs(value) < kExact) return key;
  if (text.front() == '+') text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), key.exact);
  return key;
}

std::string plain_text(const NumberKey& key) {
  if (key.exact != 0) return std::to_string(key.exact);
  std::array<char, 32> buffer{};
  const double value = key.value == 0 ? 0 : key.value;  // no -0
  constexpr double kLongest = 1e15;
  if (value == std::floor(value) && std::abs(value) < kLongest) return std::to_string(static_cast<std::int64_t>(value));
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

/// The classes of a column of numbers: one for each value. A class has the text of its cells as name. If a value has
/// several texts, all classes have plain numbers as names.
TableTarget classes_by_value(const Table& table, std::size_t column) {
  struct Value {
    std::string_view text;
    std::int32_t label = 0;
  };
  std::map<NumberKey, Value> found;
  bool one_text = true;
  std::vector<Value*> values;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    const auto [it, is_new] = found.try_emplace(key_of(text, *table.number(text)), Value{text});
    one_text &= is_new || it->second.text == text;
    values.push_back(&it->second);
  }
  TableTarget target{.names = {}, .labels = {}, .numbers = {}, .unknown = {}};
  for (auto& [key, value] : found) {
    value.label = static_cast<std::int32_t>(target.names.size());
    target.names.push_back(one_text ? std::string(value.text) : plain_text(key));
  }
  for (const Value* value : values) target.labels.push_back(value->label);
  return target;
}

/// The classes by the value of their names; empty unless all names are different numbers, or with the first rules.
std::map<NumberKey, std::int32_t> classes_of_values(const Table& table, const std::vector<std::string>& names) {
  std::map<NumberKey, std::int32_t> out;
  if (table.notation().rules == study::kFirstRules) return out;
  for (const std::string& name : names) {
    const auto value = table.number(name);
    if (!value || !out.emplace(key_of(name, *value), static_cast<std::int32_t>(out.size())).second) return {};
  }
  return out;
}

Error too_many_classes(const std::string& column) {
  return target_column_error(column,
                             "more than " + std::to_string(kMaxClasses) + " classes; task=numbers reads numbers");
}

/// A target of numbers only, after the first rules.
Result<TableTarget> read_number_target(const Table& table, std::size_t column, const std::string& task, bool whole) {
  const std::string& name = table.header()[column];
  std::set<NumberKey> found;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    found.insert(key_of(text, *table.number(text)));
  }
  const WholeTarget values{
      .rows = table.rows(), .different = found.size(), .min = found.begin()->value, .max = found.rbegin()->value};
  const bool classes = task == "classes" || (task == "auto" && whole && are_classes(values, kMaxClasses));
  TableTarget target;
  if (!classes) {
    LANISTA_ASSIGN(target.numbers, numbers_in(table, {column}));
  } else {
    if (found.size() > kMaxClasses) return too_many_classes(name);
    if (found.size() < 2) return target_column_error(name, "a target needs at least two classes");
    target = classes_by_value(table, column);
  }
  if (task == "auto" && whole) target.decision = whole_target_text(values, classes);
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

  if (numeric && table.notation().rules > study::kFirstRules) return read_number_target(table, column, task, whole);
  TableTarget target;
  const bool classes =
      task == "classes" || (task == "auto" && (!numeric || (whole && found.size() <= kMaxIntegerClasses)));
  if (!classes) {
    LANISTA_ASSIGN(target.numbers, numbers_in(table, {column}));
    return target;
  }
  if (found.size() > kMaxClasses) return too_many_classes(name);
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
  if (columns.size() > 1) {
    LANISTA_ASSIGN(const auto labels, labels_in(table, columns, target.unknown));
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto cells = std::span(labels).subspan(row * columns.size(), columns.size());
      const bool is_unknown = std::ranges::binary_search(target.unknown, row);
      if (!is_unknown && std::ranges::count(cells, 1.0F) != 1) {
        return target_column_error(table.header()[column],
                                   table.row_location(row) + " has no single 1 in the columns of the classes");
      }
      target.labels.push_back(is_unknown ? 0
                                         : static_cast<std::int32_t>(std::ranges::find(cells, 1.0F) - cells.begin()));
    }
    return std::optional(std::move(target));
  }
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers[names[i]] = static_cast<std::int32_t>(i);
  const std::map<NumberKey, std::int32_t> by_value = classes_of_values(table, names);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    if (text.empty()) {
      target.labels.push_back(0);
      continue;
    }
    if (const auto value = by_value.empty() ? std::nullopt : table.number(text)) {
      if (const auto it = by_value.find(key_of(text, *value)); it != by_value.end()) {
        target.labels.push_back(it->second);
        continue;
      }
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
