#include "lanista/io/data/table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/digest.h"
#include "lanista/io/data/column_warnings.h"
#include "lanista/io/data/constant_columns.h"
#include "lanista/io/data/files.h"
#include "lanista/io/data/origin.h"
#include "lanista/search/study/rules.h"

namespace lanista::data {
namespace {

constexpr std::size_t kMaxCategories = 256;
constexpr double kNoText = std::numeric_limits<double>::quiet_NaN();

Error malformed(const std::string& column, const std::string& message) {
  return {Code::kDataLoss, "csv: column \"" + column + "\": " + message, ""};
}

std::string quoted(std::string_view text) { return "\"" + std::string(text.substr(0, 64)) + "\""; }

Error not_a_date_error(const std::string& column, const std::string& row_location, std::string_view text) {
  return malformed(column,
                   row_location + " holds " + quoted(text) +
                       ", which is no date; expected 2024-03-01, 2024/03/01 or 01.03.2024, with a time or without");
}

/// A column in messages; one without a name has its index.
std::string column_text(const std::string& name, std::size_t index) {
  return name.empty() ? "column " + std::to_string(index) + ", which has no name" : "column \"" + name + "\"";
}

/// The result of one pass over the cells of a column.
struct ColumnScan {
  std::vector<double> numbers;            ///< of each row; NaN without a value, or if it is not a number
  std::optional<std::size_t> first_text;  ///< the first row with a value that is not a number
  std::int64_t missing = 0, unique = 0;
};

ColumnScan scan_column(const Table& table, std::size_t index) {
  ColumnScan cells;
  cells.numbers.assign(table.rows(), std::numeric_limits<double>::quiet_NaN());
  // Sorting hashes of 128 bits is several times as fast as sorting texts all over the file.
  std::vector<Digest> texts;
  texts.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, index);
    if (text.empty()) {
      ++cells.missing;
      continue;
    }
    texts.push_back(hash_text(text));
    if (const auto number = table.number(text)) {
      cells.numbers[row] = *number;
    } else if (!cells.first_text) {
      cells.first_text = row;
    }
  }
  std::sort(texts.begin(), texts.end());
  cells.unique = std::distance(texts.begin(), std::unique(texts.begin(), texts.end()));
  return cells;
}

/// Statistics of values by row; NaN where there is none.
NumberStats stats_of(const std::vector<double>& values, const std::vector<std::int64_t>& train, std::int64_t rules) {
  NumberStats stats;
  bool first = true;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    stats.min = first ? value : std::min(stats.min, value);
    stats.max = first ? value : std::max(stats.max, value);
    first = false;
  }
  std::vector<double> present;
  for (const std::int64_t row : train) {
    const double value = values[static_cast<std::size_t>(row)];
    if (!std::isnan(value)) present.push_back(value);
  }
  const auto average = [&](const auto& term) {
    double sum = 0;
    for (const double v : present) sum += term(v);
    return present.empty() ? 0 : sum / static_cast<double>(present.size());
  };
  const auto deviation = [&] {
    const double variance = average([&](double v) { return (v - stats.mean) * (v - stats.mean); });
    return variance > 0 ? std::sqrt(variance) : 1;
  };
  stats.mean = average([](double v) { return v; });
  stats.scale = deviation();
  if (rules > study::kFirstRules) {
    // The sum of large numbers is rounded, so their mean may be off by a visible part of the deviation.
    constexpr double kVisible = 1e-7;
    const double rest = average([&](double v) { return v - stats.mean; });
    if (std::fabs(rest) > kVisible * stats.scale) {
      stats.mean += rest;
      stats.scale = deviation();
    }
  }
  if (rules > study::kFirstRules && !present.empty()) {
    const auto [least, most] = std::ranges::minmax(present);
    settle_constant(least, most, 0, stats.mean, stats.scale);
  }
  return stats;
}

Result<void> fit_number(const Table& table, std::size_t index, const std::vector<std::int64_t>& train,
                        const ColumnScan& cells, Column& column) {
  if (cells.first_text) {
    return not_a_number_error(column.name, table.row_location(*cells.first_text), table.text(*cells.first_text, index));
  }
  column.stats = stats_of(cells.numbers, train, table.notation().rules);
  return {};
}

Result<void> fit_date(const Table& table, std::size_t index, const std::vector<std::int64_t>& train, Column& column) {
  std::vector<std::optional<Date>> dates(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, index);
    if (!text.empty() && !(dates[row] = parse_date(text))) {
      return not_a_date_error(column.name, table.row_location(row), text);
    }
  }
  const bool times = std::ranges::any_of(train, [&](std::int64_t row) {
    const auto& date = dates[static_cast<std::size_t>(row)];
    return date && date->has_time;
  });
  for (const DatePart& part : kDateParts) {
    if (part.needs_time && !times) continue;
    std::vector<double> values;
    for (const auto& date : dates)
      values.push_back(date ? (*date).*part.value : std::numeric_limits<double>::quiet_NaN());
    column.parts.push_back(stats_of(values, train, table.notation().rules));
  }
  if (table.notation().rules == study::kFirstRules) return {};
  for (const std::int64_t row : train) {
    const auto& date = dates[static_cast<std::size_t>(row)];
    if (!date) continue;
    const std::int64_t second = instant_of(*date).second;
    column.elapsed_from = std::min(column.elapsed_from.value_or(second), second);
  }
  if (!column.elapsed_from) return {};
  const std::size_t last = column.parts.size();
  column.parts.emplace_back();
  std::vector<double> values;
  for (const auto& date : dates) values.push_back(date ? column.part_value(last, *date) : kNoText);
  column.parts[last] = stats_of(values, train, table.notation().rules);
  return {};
}

/// Fits the categories of the training rows, or the `max_categories` most frequent ones; ties are sorted by bytes.
/// `warning` is what its texts may have been meant to be, and in the end the warning for the user.
Result<void> fit_category(const Table& table, std::size_t index, const std::vector<std::int64_t>& train,
                          std::int64_t max_categories, std::string& warning, Column& column) {
  std::map<std::string_view, std::int64_t> found;
  for (const std::int64_t row : train) {
    const auto text = table.text(static_cast<std::size_t>(row), index);
    if (!text.empty()) ++found[text];
    if (max_categories == 0 && found.size() > kMaxCategories) {
      const std::string hint =
          "leave it out with drop=, or keep the most frequent with categories=" + std::to_string(kMaxCategories);
      return malformed(column.name, "more than " + std::to_string(kMaxCategories) + " different texts; " +
                                        (warning.empty() ? hint : warning));
    }
  }
  if (max_categories > 0 && std::cmp_greater(found.size(), max_categories)) {
    std::vector<std::pair<std::int64_t, std::string_view>> ranked;
    for (const auto& [text, count] : found) ranked.emplace_back(-count, text);
    std::ranges::sort(ranked);
    std::int64_t others = 0;
    for (auto it = ranked.begin() + max_categories; it != ranked.end(); ++it) {
      others -= it->first;
      found.erase(it->second);
    }
    warning = "keeps the " + std::to_string(max_categories) + " most frequent of " + std::to_string(ranked.size()) +
              " categories; the others, in " + std::to_string(others) + " of " + std::to_string(train.size()) +
              " rows, count as missing";
  }
  for (const auto& [text, count] : found) column.categories.emplace_back(text);
  return {};
}

/// Appends the origin of each feature of a fitted column.
void add_origins(const Table& table, std::size_t index, const Column& column, const ColumnScan& cells,
                 const std::vector<std::int64_t>& train, std::vector<double>& origin) {
  origin.resize(origin.size() + column.categories.size());
  std::vector<double> numbers;
  if (column.kind == ColumnKind::kNumber) {
    for (const std::int64_t row : train) numbers.push_back(cells.numbers[static_cast<std::size_t>(row)]);
    origin.push_back(fit_origin(numbers));
  }
  for (std::size_t part = 0; part < column.parts.size(); ++part) {
    numbers.clear();
    for (const std::int64_t row : train) {
      const auto date = parse_date(table.text(static_cast<std::size_t>(row), index));
      if (date) numbers.push_back(column.part_value(part, *date));
    }
    origin.push_back(fit_origin(numbers));
  }
}

/// Appends a cell's features, each less its origin. Returns whether it has an unknown category.
Result<bool> add_features(const Table& table, std::size_t row, std::string_view text, const Column& column,
                          const std::function<double(std::size_t)>& origin_at, std::vector<float>& features) {
  switch (column.kind) {
    case ColumnKind::kNumber: {
      const auto number = table.number(text);
      if (!number && !text.empty()) return not_a_number_error(column.name, table.row_location(row), text);
      const double value = number.value_or(column.keeps_missing ? kNoText : column.stats.mean);
      const auto feature = static_cast<float>(value - origin_at(features.size()));
      if (number && !std::isfinite(feature)) return beyond_float_error(column.name, table.row_location(row), text);
      features.push_back(feature);
      return false;
    }
    case ColumnKind::kCategory: {
      const auto first = features.size();
      features.resize(first + column.categories.size(), 0.0F);
      const auto it = std::lower_bound(column.categories.begin(), column.categories.end(), text);
      if (it == column.categories.end() || *it != text) return !text.empty();
      if (std::ranges::binary_search(column.unseen, text)) return true;
      features[first + static_cast<std::size_t>(it - column.categories.begin())] = 1;
      return false;
    }
    case ColumnKind::kDate: {
      const auto date = parse_date(text);
      if (!date && !text.empty()) return not_a_date_error(column.name, table.row_location(row), text);
      for (std::size_t i = 0; i < column.parts.size(); ++i) {
        const double instead = column.keeps_missing ? kNoText : column.parts[i].mean;
        const double value = date ? column.part_value(i, *date) : instead;
        features.push_back(static_cast<float>(value - origin_at(features.size())));
      }
      return false;
    }
  }
  return false;
}

}  // namespace

Error beyond_float_error(const std::string& column, const std::string& row_location, std::string_view text) {
  return malformed(column, row_location + " holds " + quoted(text) +
                               ", which is finite but beyond float32 (3.4e38); divide the column, leave it out with "
                               "drop=" +
                               escaped(column) + ", or missing=" + escaped(std::string(text.substr(0, 64))) +
                               " if it means that there is no value");
}

Error not_a_number_error(const std::string& column, const std::string& row_location, std::string_view text) {
  return malformed(column, row_location + " holds " + quoted(text) +
                               ", which is not a number; correct it, or missing=" +
                               escaped(std::string(text.substr(0, 64))) + " if it means that there is no value");
}

Table::Table(formats::CsvTable cells, CellNotation notation)
    : cells_(std::move(cells)),
      notation_(std::move(notation)),
      keeps_na_(cells_.columns()),
      rows_(cells_.rows()),
      first_file_(cells_.rows()) {
  std::iota(rows_.begin(), rows_.end(), std::size_t{0});
}

std::string_view Table::text(std::size_t row, std::size_t column) const {
  const auto text = notation_.text(cells_.cell(rows_[row], column), keeps_na_[column]);
  if (booleans_.empty()) return text;
  const auto names = booleans_.find(column);
  const auto value = names == booleans_.end() ? std::nullopt : boolean_of(text);
  if (!value) return text;
  const std::string& name = names->second[*value ? 1 : 0];
  return name.empty() ? text : std::string_view(name);
}

void Table::unify_booleans(std::size_t column, const std::vector<std::string>& names) {
  std::array<std::string, 2> spelling;
  for (const std::string& name : names) {
    const auto value = boolean_of(name);
    if (!value || !spelling[*value ? 1 : 0].empty()) return;
    spelling[*value ? 1 : 0] = name;
  }
  booleans_[column] = std::move(spelling);
}

std::string_view Table::cell(std::size_t row, std::size_t column) const {
  return notation_.trimmed(cells_.cell(rows_[row], column));
}

std::string Table::row_location(std::size_t row) const {
  const std::size_t at = rows_[row];
  if (at < first_file_) return "row " + std::to_string(at + 1);
  return "row " + std::to_string(at - first_file_ + 1) + " of " + second_name_;
}

Result<void> Table::add_file(const formats::CsvTable& cells, const std::vector<std::size_t>& columns,
                             std::string name) {
  LANISTA_TRY(cells_.append(cells, columns));
  for (std::size_t at = first_file_; at < cells_.rows(); ++at) rows_.push_back(at);
  second_name_ = std::move(name);
  return {};
}

std::vector<std::int64_t> Table::rows_of_second_file() const {
  const auto first = std::ranges::lower_bound(rows_, first_file_) - rows_.begin();
  std::vector<std::int64_t> out(rows_.size() - static_cast<std::size_t>(first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::int64_t Table::drop_rows_with_missing(const std::vector<std::size_t>& columns) {
  const auto lacks = [&](std::size_t row) {
    return std::ranges::any_of(
        columns, [&](std::size_t c) { return notation_.text(cells_.cell(row, c), keeps_na_[c]).empty(); });
  };
  return static_cast<std::int64_t>(std::erase_if(rows_, lacks));
}

Result<FittedColumns> fit_columns(const Table& table, const std::vector<ColumnDeclaration>& features,
                                  const std::vector<std::int64_t>& train) {
  FittedColumns out;
  for (const ColumnDeclaration& raw : features) {
    Column column;
    column.name = table.header()[raw.index];
    const ColumnScan cells = scan_column(table, raw.index);
    column.kind = raw.kind.value_or(cells.first_text ? ColumnKind::kCategory : ColumnKind::kNumber);
    column.categories = raw.categories;
    column.missing = cells.missing;
    column.unique = cells.unique;
    std::string warning;
    if (!raw.kind) {
      warning = cells.first_text ? text_column_warning(table, raw.index) : code_column_warning(table, raw.index);
    }
    switch (column.kind) {
      case ColumnKind::kNumber:
        LANISTA_TRY(fit_number(table, raw.index, train, cells, column));
        if (warning.empty() && !raw.kind) warning = counter_warning(table, raw.index, cells.numbers);
        break;
      case ColumnKind::kCategory:
        if (column.categories.empty()) {
          LANISTA_TRY(fit_category(table, raw.index, train, raw.max_categories, warning, column));
        }
        if (warning.empty() && !raw.kind) {
          const std::int64_t present = static_cast<std::int64_t>(table.rows()) - cells.missing;
          warning = identifier_warning(table, raw.index, present, cells.unique);
        }
        if (warning.empty() && table.notation().rules > study::kFirstRules) warning = case_warning(column.categories);
        break;
      case ColumnKind::kDate:
        LANISTA_TRY(fit_date(table, raw.index, train, column));
        break;
    }
    add_origins(table, raw.index, column, cells, train, out.origin);
    if (!warning.empty()) out.data_warnings.push_back(column_text(column.name, raw.index) + ": " + warning);
    out.columns.push_back(std::move(column));
  }
  if (std::ranges::all_of(out.origin, [](double x) { return x == 0; })) out.origin.clear();
  return out;
}

Result<EncodedRows> encode_rows(const Table& table, const std::vector<std::size_t>& indices,
                                const std::vector<Column>& columns, std::span<const double> origin) {
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
  LANISTA_CHECK(origin.empty() || width % origin.size() == 0, "origins must divide the features of a table");
  const auto origin_at = [&](std::size_t feature) {
    return origin.empty() ? 0 : origin[feature % width * origin.size() / width];
  };
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto text = table.text(row, indices[c]);
      out.missing += text.empty() ? 1 : 0;
      LANISTA_ASSIGN(const bool unknown, add_features(table, row, text, columns[c], origin_at, out.features));
      if (unknown && out.unknown++ == 0) {
        out.first_unknown_location =
            table.row_location(row) + " holds " + quoted(text) + " in column \"" + columns[c].name + "\"";
      }
    }
  }
  return out;
}

}  // namespace lanista::data
