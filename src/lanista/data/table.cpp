#include "lanista/data/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "lanista/base/text_distance.h"

namespace lanista::data {
namespace {

constexpr std::size_t kMaxCategories = 256;
constexpr std::size_t kMaxIntegerClasses = 20;
constexpr std::size_t kMaxClasses = 10'000;
constexpr std::array<std::string_view, 7> kMissing = {"?", "NA", "N/A", "nan", "NaN", "null", "NULL"};

Error broken(const std::string& column, const std::string& message) {
  return {Code::kDataLoss, "csv: column \"" + column + "\": " + message, ""};
}

Result<std::size_t> find_column(const Source& source, const std::vector<std::string>& header,
                                const std::string& wanted) {
  const auto count = std::count(header.begin(), header.end(), wanted);
  if (count > 1) return source.error("there are " + std::to_string(count) + " columns called \"" + wanted + "\"");
  if (count == 1) return static_cast<std::size_t>(std::find(header.begin(), header.end(), wanted) - header.begin());
  std::size_t index = 0;
  const auto [end, failed] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  if (failed == std::errc() && end == wanted.data() + wanted.size() && index < header.size()) return index;
  const std::string near = nearest_name(wanted, header);
  return source.error("no column \"" + wanted + "\"" + (near.empty() ? "" : ", did you mean \"" + near + "\"?") +
                      "; there are " + std::to_string(header.size()) + " columns");
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
  return std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return cell_text(row[column]).empty() || cell_number(row[column]).has_value();
  });
}

/// Column `out` of the features, and how it was made.
struct Encoder {
  const formats::CsvTable& table;
  const std::vector<std::int64_t>& train;
  EncodedColumns& out;
  std::vector<std::vector<float>> features;  ///< by column; turned at the end

  void numeric(std::size_t column) {
    std::vector<double> present;
    for (const std::int64_t row : train) {
      if (const auto v = cell_number(table.rows[static_cast<std::size_t>(row)][column])) present.push_back(*v);
    }
    double mean = 0, variance = 0;
    for (const double v : present) mean += v;
    if (!present.empty()) mean /= static_cast<double>(present.size());
    for (const double v : present) variance += (v - mean) * (v - mean);
    if (!present.empty()) variance /= static_cast<double>(present.size());
    const double scale = variance > 0 ? std::sqrt(variance) : 1;

    std::size_t missing = 0;
    std::vector<float>& values = features.emplace_back();
    for (const auto& row : table.rows) {
      const auto v = cell_number(row[column]);
      missing += v ? 0 : 1;
      values.push_back(static_cast<float>(v.value_or(mean)));
    }
    out.mean.push_back(mean);
    out.scale.push_back(scale);
    out.columns.push_back({{"name", table.header[column]},
                           {"kind", "number"},
                           {"mean", mean},
                           {"scale", scale},
                           {"missing", missing},
                           {"missing_becomes", "mean"}});
  }

  Result<void> categorical(std::size_t column) {
    std::set<std::string_view> found;
    for (const std::int64_t row : train) {
      const auto text = cell_text(table.rows[static_cast<std::size_t>(row)][column]);
      if (!text.empty()) found.insert(text);
      if (found.size() > kMaxCategories) {
        return broken(table.header[column],
                      "more than " + std::to_string(kMaxCategories) + " different texts; leave it out with drop=");
      }
    }
    const std::vector<std::string> categories(found.begin(), found.end());
    std::size_t missing = 0;
    const std::size_t first = features.size();
    features.resize(first + categories.size(), std::vector<float>(table.rows.size(), 0.0F));
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const auto text = cell_text(table.rows[row][column]);
      const auto it = std::lower_bound(categories.begin(), categories.end(), text);
      missing += text.empty() ? 1 : 0;
      if (it == categories.end() || *it != text) continue;
      features[first + static_cast<std::size_t>(it - categories.begin())][row] = 1;
    }
    // Zeros and ones stay as they are: a rare category, scaled, would outweigh everything else.
    out.mean.resize(features.size(), 0);
    out.scale.resize(features.size(), 1);
    out.columns.push_back({{"name", table.header[column]},
                           {"kind", "category"},
                           {"categories", categories},
                           {"missing", missing},
                           {"missing_becomes", "zeros"}});
    return {};
  }
};

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

Result<TableRoles> choose_roles(const Source& source, const std::vector<std::string>& header) {
  TableRoles roles{.target = header.size() - 1, .features = {}};
  if (const auto wanted = source.value("target")) {
    LANISTA_ASSIGN(roles.target, find_column(source, header, *wanted));
  }
  std::set<std::size_t> dropped = {roles.target};
  if (const auto drop = source.value("drop")) {
    for (const std::string& name : split_at_commas(*drop)) {
      LANISTA_ASSIGN(const std::size_t column, find_column(source, header, name));
      if (column == roles.target) return source.error("the target \"" + name + "\" cannot be dropped");
      dropped.insert(column);
    }
  }
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (!dropped.contains(c)) roles.features.push_back(c);
  }
  if (roles.features.empty())
    return source.error("beside the target \"" + header[roles.target] + "\" no column is left");
  return roles;
}

Result<TableTarget> read_target(const formats::CsvTable& table, std::size_t column, const std::string& task) {
  const std::string& name = table.header[column];
  std::set<std::string_view> found;
  bool numeric = true, whole = true;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto text = cell_text(table.rows[row][column]);
    if (text.empty()) return broken(name, "the target of row " + std::to_string(row + 1) + " is missing");
    const auto number = cell_number(text);
    if (!number && task == "numbers") {
      return broken(name, "row " + std::to_string(row + 1) + " holds \"" + std::string(text.substr(0, 64)) +
                              "\", which is no number");
    }
    numeric &= number.has_value();
    whole &= number && *number == std::floor(*number);
    if (found.size() <= kMaxClasses) found.insert(text);
  }

  TableTarget target;
  const bool classes =
      task == "classes" || (task == "auto" && (!numeric || (whole && found.size() <= kMaxIntegerClasses)));
  if (!classes) {
    for (const auto& row : table.rows) target.numbers.push_back(static_cast<float>(*cell_number(row[column])));
    return target;
  }
  if (found.size() > kMaxClasses) return broken(name, "more than " + std::to_string(kMaxClasses) + " classes");
  if (found.size() < 2) return broken(name, "a target needs at least two classes");
  target.names = class_names(found, numeric);
  std::map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < target.names.size(); ++i) numbers[target.names[i]] = static_cast<std::int32_t>(i);
  for (const auto& row : table.rows) target.labels.push_back(numbers.at(cell_text(row[column])));
  return target;
}

Result<EncodedColumns> encode_columns(const formats::CsvTable& table, const std::vector<std::size_t>& columns,
                                      const std::vector<std::int64_t>& train) {
  EncodedColumns out;
  out.columns = nlohmann::json::array();
  Encoder encoder{.table = table, .train = train, .out = out, .features = {}};
  for (const std::size_t column : columns) {
    if (all_numeric(table, column)) {
      encoder.numeric(column);
    } else {
      LANISTA_TRY(encoder.categorical(column));
    }
  }
  out.features.reserve(table.rows.size() * encoder.features.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const auto& feature : encoder.features) out.features.push_back(feature[row]);
  }
  return out;
}

}  // namespace lanista::data
