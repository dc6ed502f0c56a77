#include "lanista/data/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "lanista/data/files.h"

namespace lanista::data {
namespace {

constexpr std::size_t kMaxCategories = 256;
constexpr std::size_t kMaxIntegerClasses = 20;
constexpr std::size_t kMaxClasses = 10'000;
constexpr std::array<std::string_view, 7> kMissing = {"?", "NA", "N/A", "nan", "NaN", "null", "NULL"};

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

bool all_numeric(const formats::CsvTable& table, std::size_t column) {
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!cell_text(table.cell(row, column)).empty() && !cell_number(table.cell(row, column))) return false;
  }
  return true;
}

void count_cells(const formats::CsvTable& table, std::size_t index, Column& column) {
  std::vector<std::string_view> present;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (const auto text = cell_text(table.cell(row, index)); !text.empty()) present.push_back(text);
  }
  column.missing = static_cast<std::int64_t>(table.rows() - present.size());
  std::sort(present.begin(), present.end());
  column.unique = std::distance(present.begin(), std::unique(present.begin(), present.end()));
}

Result<void> fit_number(const formats::CsvTable& table, std::size_t index, const std::vector<std::int64_t>& train,
                        Column& column) {
  bool first = true;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto value = cell_number(table.cell(row, index));
    if (!value) {
      if (const auto text = cell_text(table.cell(row, index)); !text.empty()) {
        return no_number(column.name, row, text);
      }
      continue;
    }
    column.min = first ? *value : std::min(column.min, *value);
    column.max = first ? *value : std::max(column.max, *value);
    first = false;
  }
  std::vector<double> present;
  for (const std::int64_t row : train) {
    if (const auto v = cell_number(table.cell(static_cast<std::size_t>(row), index))) present.push_back(*v);
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
  if (std::find(kMissing.begin(), kMissing.end(), cell) != kMissing.end()) return {};
  return cell;
}

std::optional<double> cell_number(std::string_view cell) {
  std::string_view text = cell_text(cell);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

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
    const auto found = all_numeric(table, raw.index) ? ColumnKind::kNumber : ColumnKind::kCategory;
    column.kind = raw.kind.value_or(found);
    column.categories = raw.categories;
    count_cells(table, raw.index, column);
    if (column.kind == ColumnKind::kNumber) {
      LANISTA_TRY(fit_number(table, raw.index, train, column));
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
        const auto number = cell_number(text);
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
