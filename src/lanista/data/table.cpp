#include "lanista/data/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/data/files.h"

namespace lanista::data {
namespace {

constexpr std::size_t kMaxCategories = 256;
constexpr std::size_t kMaxIntegerClasses = 20;
constexpr std::size_t kMaxClasses = 10'000;
constexpr std::array<std::string_view, 7> kMissing = {"?", "NA", "N/A", "nan", "NaN", "null", "NULL"};

constexpr std::size_t kLongestMissing = 4;
static_assert(std::ranges::all_of(kMissing, [](std::string_view text) { return text.size() <= kLongestMissing; }));

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number that a cell's text is.
std::optional<double> number_of(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Error broken(const std::string& column, const std::string& message) {
  return {Code::kDataLoss, "csv: column \"" + column + "\": " + message, ""};
}

Error no_number(const std::string& column, std::size_t row, std::string_view text) {
  return broken(column, "row " + std::to_string(row + 1) + " holds \"" + std::string(text.substr(0, 64)) +
                            "\", which is no number");
}

/// Sorted names to class numbers; numbers are compared as such, so that 10 comes after 9.
std::vector<std::string> class_names(const std::set<std::string_view>& found, bool numeric) {
  std::vector<std::string> names(found.begin(), found.end());
  if (numeric) {
    std::sort(names.begin(), names.end(),
              [](const std::string& a, const std::string& b) { return *cell_number(a) < *cell_number(b); });
  }
  return names;
}

/// What one walk through the cells of a column finds.
struct Cells {
  std::vector<double> numbers;        ///< of each row; NaN where there is no value, or no number
  std::optional<std::size_t> a_text;  ///< the first row with a value that is no number
  std::int64_t missing = 0, unique = 0;
};

Cells walk(const formats::CsvTable& table, std::size_t index) {
  Cells cells;
  cells.numbers.assign(table.rows(), std::numeric_limits<double>::quiet_NaN());
  // Sorting hashes of 128 bits is several times as fast as sorting texts that lie all over the file.
  std::vector<Digest> texts;
  texts.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = cell_text(table.cell(row, index));
    if (text.empty()) {
      ++cells.missing;
      continue;
    }
    texts.push_back(hash_text(text));
    if (const auto number = number_of(text)) {
      cells.numbers[row] = *number;
    } else if (!cells.a_text) {
      cells.a_text = row;
    }
  }
  std::sort(texts.begin(), texts.end());
  cells.unique = std::distance(texts.begin(), std::unique(texts.begin(), texts.end()));
  return cells;
}

Result<void> fit_number(const formats::CsvTable& table, std::size_t index, const std::vector<std::int64_t>& train,
                        const Cells& cells, Column& column) {
  if (cells.a_text) return no_number(column.name, *cells.a_text, cell_text(table.cell(*cells.a_text, index)));
  bool first = true;
  for (const double value : cells.numbers) {
    if (std::isnan(value)) continue;
    column.min = first ? value : std::min(column.min, value);
    column.max = first ? value : std::max(column.max, value);
    first = false;
  }
  std::vector<double> present;
  for (const std::int64_t row : train) {
    const double value = cells.numbers[static_cast<std::size_t>(row)];
    if (!std::isnan(value)) present.push_back(value);
  }
  double variance = 0;
  for (const double v : present) column.mean += v;
  if (!present.empty()) column.mean /= static_cast<double>(present.size());
  for (const double v : present) variance += (v - column.mean) * (v - column.mean);
  if (!present.empty()) variance /= static_cast<double>(present.size());
  column.scale = variance > 0 ? std::sqrt(variance) : 1;
  return {};
}

Result<void> fit_category(const formats::CsvTable& table, std::size_t index, const std::vector<std::int64_t>& train,
                          Column& column) {
  std::set<std::string_view> found;
  for (const std::int64_t row : train) {
    const auto text = cell_text(table.cell(static_cast<std::size_t>(row), index));
    if (!text.empty()) found.insert(text);
    if (found.size() > kMaxCategories) {
      return broken(column.name,
                    "more than " + std::to_string(kMaxCategories) + " different texts; leave it out with drop=");
    }
  }
  column.categories.assign(found.begin(), found.end());
  return {};
}

}  // namespace

std::string_view cell_text(std::string_view cell) {
  while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
  // Numbers are most of what there is, and none of these begins as one.
  const bool may_be = !cell.empty() && cell.size() <= kLongestMissing && !is_digit(cell.front());
  if (may_be && std::find(kMissing.begin(), kMissing.end(), cell) != kMissing.end()) return {};
  return cell;
}

std::optional<double> cell_number(std::string_view cell) { return number_of(cell_text(cell)); }

Result<TableTarget> read_target(const formats::CsvTable& table, std::size_t column, const std::string& task) {
  const std::string& name = table.header()[column];
  std::set<std::string_view> found;
  bool numeric = true, whole = true;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = cell_text(table.cell(row, column));
    if (text.empty()) return broken(name, "the target of row " + std::to_string(row + 1) + " is missing");
    const auto number = cell_number(text);
    if (!number && task == "numbers") return no_number(name, row, text);
    numeric &= number.has_value();
    whole &= number && *number == std::floor(*number);
    if (found.size() <= kMaxClasses) found.insert(text);
  }

  TableTarget target;
  const bool classes =
      task == "classes" || (task == "auto" && (!numeric || (whole && found.size() <= kMaxIntegerClasses)));
  if (!classes) {
    for (std::size_t row = 0; row < table.rows(); ++row) {
      target.numbers.push_back(static_cast<float>(*cell_number(table.cell(row, column))));
    }
    return target;
  }
  if (found.size() > kMaxClasses) return broken(name, "more than " + std::to_string(kMaxClasses) + " classes");
  if (found.size() < 2) return broken(name, "a target needs at least two classes");
  target.names = class_names(found, numeric);
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < target.names.size(); ++i) numbers[target.names[i]] = static_cast<std::int32_t>(i);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    target.labels.push_back(numbers.at(cell_text(table.cell(row, column))));
  }
  return target;
}

Result<std::optional<TableTarget>> read_known_target(const formats::CsvTable& table, std::size_t column,
                                                     const std::vector<std::string>& names) {
  bool any = false;
  for (std::size_t row = 0; row < table.rows(); ++row) any |= !cell_text(table.cell(row, column)).empty();
  if (!any) return std::optional<TableTarget>();
  const std::string& name = table.header()[column];
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers[names[i]] = static_cast<std::int32_t>(i);
  TableTarget target{.names = names, .labels = {}, .numbers = {}};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = cell_text(table.cell(row, column));
    if (text.empty()) return broken(name, "the target of row " + std::to_string(row + 1) + " is missing");
    if (names.empty()) {
      const auto number = cell_number(text);
      if (!number) return no_number(name, row, text);
      target.numbers.push_back(static_cast<float>(*number));
      continue;
    }
    const auto it = numbers.find(text);
    if (it == numbers.end()) {
      return broken(name, "row " + std::to_string(row + 1) + " holds \"" + std::string(text.substr(0, 64)) +
                              "\", which is none of the " + std::to_string(names.size()) + " classes");
    }
    target.labels.push_back(it->second);
  }
  return std::optional(std::move(target));
}

Result<std::vector<Column>> fit_columns(const formats::CsvTable& table, const std::vector<RawColumn>& features,
                                        const std::vector<std::int64_t>& train) {
  std::vector<Column> out;
  for (const RawColumn& raw : features) {
    Column column;
    column.name = table.header()[raw.index];
    const Cells cells = walk(table, raw.index);
    column.kind = raw.kind.value_or(cells.a_text ? ColumnKind::kCategory : ColumnKind::kNumber);
    column.categories = raw.categories;
    column.missing = cells.missing;
    column.unique = cells.unique;
    if (column.kind == ColumnKind::kNumber) {
      LANISTA_TRY(fit_number(table, raw.index, train, cells, column));
    } else if (column.categories.empty()) {
      LANISTA_TRY(fit_category(table, raw.index, train, column));
    }
    out.push_back(std::move(column));
  }
  return out;
}

Result<EncodedRows> encode_rows(const formats::CsvTable& table, const std::vector<std::size_t>& indices,
                                const std::vector<Column>& columns) {
  EncodedRows out;
  std::size_t width = 0;
  for (const Column& column : columns) width += static_cast<std::size_t>(column.width());
  if (width > 0 && table.rows() > static_cast<std::size_t>(kMaxFeatures) / width) {
    return Error{Code::kResourceExhausted,
                 "csv: " + std::to_string(table.rows()) + " rows of " + std::to_string(width) +
                     " features are more than " + std::to_string(kMaxFeatures) + " numbers",
                 ""};
  }
  out.features.reserve(table.rows() * width);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Column& column = columns[c];
      const auto text = cell_text(table.cell(row, indices[c]));
      out.missing += text.empty() ? 1 : 0;
      if (column.kind == ColumnKind::kNumber) {
        const auto number = number_of(text);
        if (!number && !text.empty()) return no_number(column.name, row, text);
        out.features.push_back(static_cast<float>(number.value_or(column.mean)));
        continue;
      }
      const auto first = out.features.size();
      out.features.resize(first + column.categories.size(), 0.0F);
      const auto it = std::lower_bound(column.categories.begin(), column.categories.end(), text);
      if (it != column.categories.end() && *it == text) {
        out.features[first + static_cast<std::size_t>(it - column.categories.begin())] = 1;
      } else if (!text.empty()) {
        ++out.unknown;
      }
    }
  }
  return out;
}

}  // namespace lanista::data
