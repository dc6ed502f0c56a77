#include "lanista/io/data/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/io/data/files.h"
#include "lanista/io/data/remarks.h"

namespace lanista::data {
namespace {

constexpr std::size_t kMaxCategories = 256;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

Error broken(const std::string& column, const std::string& message) {
  return {Code::kDataLoss, "csv: column \"" + column + "\": " + message, ""};
}

std::string quoted(std::string_view text) { return "\"" + std::string(text.substr(0, 64)) + "\""; }

Error no_date(const std::string& column, const std::string& place, std::string_view text) {
  return broken(column,
                place + " holds " + quoted(text) +
                    ", which is no date; expected 2024-03-01, 2024/03/01 or 01.03.2024, with a time or without");
}

/// What one walk through the cells of a column finds.
struct Cells {
  std::vector<double> numbers;        ///< of each row; NaN where there is no value, or no number
  std::optional<std::size_t> a_text;  ///< the first row with a value that is no number
  std::int64_t missing = 0, unique = 0;
};

Cells walk(const Table& table, std::size_t index) {
  Cells cells;
  cells.numbers.assign(table.rows(), std::numeric_limits<double>::quiet_NaN());
  // Sorting hashes of 128 bits is several times as fast as sorting texts that lie all over the file.
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
    } else if (!cells.a_text) {
      cells.a_text = row;
    }
  }
  std::sort(texts.begin(), texts.end());
  cells.unique = std::distance(texts.begin(), std::unique(texts.begin(), texts.end()));
  return cells;
}

/// Of values by row, NaN where there is none.
Range range_of(const std::vector<double>& values, const std::vector<std::int64_t>& train) {
  Range range;
  bool first = true;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    range.min = first ? value : std::min(range.min, value);
    range.max = first ? value : std::max(range.max, value);
    first = false;
  }
  std::vector<double> present;
  for (const std::int64_t row : train) {
    const double value = values[static_cast<std::size_t>(row)];
    if (!std::isnan(value)) present.push_back(value);
  }
  double variance = 0;
  for (const double v : present) range.mean += v;
  if (!present.empty()) range.mean /= static_cast<double>(present.size());
  for (const double v : present) variance += (v - range.mean) * (v - range.mean);
  if (!present.empty()) variance /= static_cast<double>(present.size());
  range.scale = variance > 0 ? std::sqrt(variance) : 1;
  return range;
}

Result<void> fit_number(const Table& table, std::size_t index, const std::vector<std::int64_t>& train,
                        const Cells& cells, Column& column) {
  if (cells.a_text) return no_number(column.name, table.place(*cells.a_text), table.text(*cells.a_text, index));
  column.range = range_of(cells.numbers, train);
  return {};
}

Result<void> fit_date(const Table& table, std::size_t index, const std::vector<std::int64_t>& train, Column& column) {
  std::vector<std::optional<Date>> dates(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, index);
    if (!text.empty() && !(dates[row] = parse_date(text))) return no_date(column.name, table.place(row), text);
  }
  const bool times = std::ranges::any_of(train, [&](std::int64_t row) {
    const auto& date = dates[static_cast<std::size_t>(row)];
    return date && date->has_time;
  });
  for (const DatePart& part : kDateParts) {
    if (part.of_time && !times) continue;
    std::vector<double> values;
    for (const auto& date : dates)
      values.push_back(date ? (*date).*part.value : std::numeric_limits<double>::quiet_NaN());
    column.parts.push_back(range_of(values, train));
  }
  return {};
}

/// The categories of the training rows, or the most frequent `most` of them, of equally frequent ones those that come
/// first by bytes. `remark`: what its texts may have been meant to be; in the end, what is to be told.
Result<void> fit_category(const Table& table, std::size_t index, const std::vector<std::int64_t>& train,
                          std::int64_t most, std::string& remark, Column& column) {
  std::map<std::string_view, std::int64_t> found;
  for (const std::int64_t row : train) {
    const auto text = table.text(static_cast<std::size_t>(row), index);
    if (!text.empty()) ++found[text];
    if (most == 0 && found.size() > kMaxCategories) {
      const std::string hint = "leave it out with drop=, or keep the most frequent with categories=" + std::to_string(kMaxCategories);
      return broken(column.name, "more than " + std::to_string(kMaxCategories) + " different texts; " +
                                     (remark.empty() ? hint : remark));
    }
  }
  if (most > 0 && std::cmp_greater(found.size(), most)) {
    std::vector<std::pair<std::int64_t, std::string_view>> ranked;
    for (const auto& [text, count] : found) ranked.emplace_back(-count, text);
    std::ranges::sort(ranked);
    std::int64_t others = 0;
    for (auto it = ranked.begin() + most; it != ranked.end(); ++it) {
      others -= it->first;
      found.erase(it->second);
    }
    remark = "keeps the " + std::to_string(most) + " most frequent of " + std::to_string(ranked.size()) +
             " categories; the others, in " + std::to_string(others) + " of " + std::to_string(train.size()) +
             " rows, count as missing";
  }
  for (const auto& [text, count] : found) column.categories.emplace_back(text);
  return {};
}

/// Appends a cell's features. Whether it holds a category that is not known.
Result<bool> add_features(const Table& table, std::size_t row, std::string_view text, const Column& column,
                          std::vector<float>& features) {
  switch (column.kind) {
    case ColumnKind::kNumber: {
      const auto number = table.number(text);
      if (!number && !text.empty()) return no_number(column.name, table.place(row), text);
      features.push_back(static_cast<float>(number.value_or(column.keeps_missing ? kNothing : column.range.mean)));
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
      if (!date && !text.empty()) return no_date(column.name, table.place(row), text);
      for (std::size_t i = 0; i < column.parts.size(); ++i) {
        const double instead = column.keeps_missing ? kNothing : column.parts[i].mean;
        features.push_back(static_cast<float>(date ? (*date).*kDateParts[i].value : instead));
      }
      return false;
    }
  }
  return false;
}

}  // namespace

Error no_number(const std::string& column, const std::string& place, std::string_view text) {
  return broken(column, place + " holds " + quoted(text) + ", which is no number; correct it, or missing=" +
                            std::string(text.substr(0, 64)) + " if it means that there is no value");
}

Table::Table(formats::CsvTable cells, CellNotation notation)
    : cells_(std::move(cells)), notation_(std::move(notation)), rows_(cells_.rows()), first_file_(cells_.rows()) {
  std::iota(rows_.begin(), rows_.end(), std::size_t{0});
}

std::string_view Table::text(std::size_t row, std::size_t column) const {
  return notation_.text(cells_.cell(rows_[row], column));
}

std::string Table::place(std::size_t row) const {
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

std::vector<std::int64_t> Table::second_file() const {
  const auto first = std::ranges::lower_bound(rows_, first_file_) - rows_.begin();
  std::vector<std::int64_t> out(rows_.size() - static_cast<std::size_t>(first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::int64_t Table::leave_out_missing(const std::vector<std::size_t>& columns) {
  const auto lacks = [&](std::size_t row) {
    return std::ranges::any_of(columns, [&](std::size_t c) { return notation_.text(cells_.cell(row, c)).empty(); });
  };
  return static_cast<std::int64_t>(std::erase_if(rows_, lacks));
}

Result<FittedColumns> fit_columns(const Table& table, const std::vector<RawColumn>& features,
                                  const std::vector<std::int64_t>& train) {
  FittedColumns out;
  for (const RawColumn& raw : features) {
    Column column;
    column.name = table.header()[raw.index];
    const Cells cells = walk(table, raw.index);
    column.kind = raw.kind.value_or(cells.a_text ? ColumnKind::kCategory : ColumnKind::kNumber);
    column.categories = raw.categories;
    column.missing = cells.missing;
    column.unique = cells.unique;
    std::string remark;
    if (!raw.kind) remark = cells.a_text ? remark_on_texts(table, raw.index) : remark_on_codes(table, raw.index);
    switch (column.kind) {
      case ColumnKind::kNumber:
        LANISTA_TRY(fit_number(table, raw.index, train, cells, column));
        break;
      case ColumnKind::kCategory:
        if (column.categories.empty()) {
          LANISTA_TRY(fit_category(table, raw.index, train, raw.most, remark, column));
        }
        break;
      case ColumnKind::kDate:
        LANISTA_TRY(fit_date(table, raw.index, train, column));
        break;
    }
    if (!remark.empty()) out.remarks.push_back("column \"" + column.name + "\": " + remark);
    out.columns.push_back(std::move(column));
  }
  return out;
}

Result<EncodedRows> encode_rows(const Table& table, const std::vector<std::size_t>& indices,
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
      const auto text = table.text(row, indices[c]);
      out.missing += text.empty() ? 1 : 0;
      LANISTA_ASSIGN(const bool unknown, add_features(table, row, text, columns[c], out.features));
      if (unknown && out.unknown++ == 0) {
        out.first_unknown = table.place(row) + " holds " + quoted(text) + " in column \"" + columns[c].name + "\"";
      }
    }
  }
  return out;
}

}  // namespace lanista::data
