#include "lanista/io/data/columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/io/data/cell_notation.h"

namespace lanista::data {
namespace {

using nlohmann::json;

/// The value of "missing_becomes" where a missing number stays NaN.
constexpr const char* kKeepsMissing = "nan";

Error malformed(std::size_t index, const std::string& message) {
  return {Code::kDataLoss, "schema: column " + std::to_string(index) + ": " + message, ""};
}

Result<double> number_at(const json& column, std::size_t index, const char* key) {
  const auto it = column.find(key);
  if (it == column.end() || !it->is_number() || !std::isfinite(it->get<double>())) {
    return malformed(index, "\"" + std::string(key) + "\" is no finite number");
  }
  return it->get<double>();
}

Result<NumberStats> parse_stats(const json& object, std::size_t index) {
  NumberStats stats;
  for (const auto& [key, value] :
       {std::pair("mean", &stats.mean), {"scale", &stats.scale}, {"min", &stats.min}, {"max", &stats.max}}) {
    LANISTA_ASSIGN(*value, number_at(object, index, key));
  }
  return stats;
}

json stats_json(const NumberStats& stats) {
  return {{"mean", stats.mean}, {"scale", stats.scale}, {"min", stats.min}, {"max", stats.max}};
}

/// The parts with their names, in order, so that a reader needs no table.
Result<void> parse_parts(const json& json_column, std::size_t index, Column& column) {
  const auto parts = json_column.find("parts");
  if (parts == json_column.end() || !parts->is_array() || parts->empty() || parts->size() > kDateParts.size() + 1) {
    return malformed(index, "\"parts\" is no list of the parts of a date");
  }
  const json& last = parts->back();
  if (last.is_object() && last.contains("from")) {
    if (!last["from"].is_number_integer()) return malformed(index, "\"from\" is no whole number");
    column.elapsed_from = last["from"].get<std::int64_t>();
  } else if (parts->size() > kDateParts.size()) {
    return malformed(index, "\"parts\" is no list of the parts of a date");
  }
  column.parts.resize(parts->size());
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const json& part = (*parts)[i];
    if (!part.is_object() || part.value("part", json()) != column.part_name(i)) {
      return malformed(index, "part " + std::to_string(i) + " is not \"" + column.part_name(i) + "\"");
    }
    LANISTA_ASSIGN(column.parts[i], parse_stats(part, index));
  }
  return {};
}

Result<Column> parse_column(const json& json_column, std::size_t index) {
  if (!json_column.is_object()) return malformed(index, "is no object");
  Column out;
  const auto text = [&](const char* key) {
    const auto it = json_column.find(key);
    return it != json_column.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  out.name = text("name");
  const std::string kind = text("kind");
  if (kind != "number" && kind != "category" && kind != "date") {
    return malformed(index, "\"kind\" is \"" + kind + "\", allowed are number, category and date");
  }
  for (const auto& [key, value] : {std::pair("missing", &out.missing), {"unique", &out.unique}}) {
    const auto it = json_column.find(key);
    if (it == json_column.end() || !it->is_number_integer()) {
      return malformed(index, "\"" + std::string(key) + "\" is no whole number");
    }
    *value = it->get<std::int64_t>();
  }
  out.keeps_missing = text("missing_becomes") == kKeepsMissing;
  if (kind == "number") {
    LANISTA_ASSIGN(out.stats, parse_stats(json_column, index));
    return out;
  }
  if (kind == "date") {
    out.kind = ColumnKind::kDate;
    LANISTA_TRY(parse_parts(json_column, index, out));
    return out;
  }
  out.kind = ColumnKind::kCategory;
  const auto categories = json_column.find("categories");
  if (categories == json_column.end() || !categories->is_array() ||
      !std::ranges::all_of(*categories, [](const json& c) { return c.is_string(); })) {
    return malformed(index, "\"categories\" is no list of texts");
  }
  out.categories = categories->get<std::vector<std::string>>();
  if (std::ranges::adjacent_find(out.categories, std::greater_equal<>()) != out.categories.end()) {
    return malformed(index, "\"categories\" are not sorted, or one stands twice");
  }
  const auto unseen = json_column.find("unseen");
  if (unseen == json_column.end()) return out;
  if (!unseen->is_array() || !std::ranges::all_of(*unseen, [](const json& c) { return c.is_string(); })) {
    return malformed(index, "\"unseen\" is no list of texts");
  }
  out.unseen = unseen->get<std::vector<std::string>>();
  const bool sorted = std::ranges::adjacent_find(out.unseen, std::greater_equal<>()) == out.unseen.end();
  if (!sorted || !std::ranges::includes(out.categories, out.unseen)) {
    return malformed(index, "\"unseen\" are not some of the categories in their order");
  }
  return out;
}

}  // namespace

std::int64_t Column::width() const {
  switch (kind) {
    case ColumnKind::kNumber:
      return 1;
    case ColumnKind::kCategory:
      return static_cast<std::int64_t>(categories.size());
    case ColumnKind::kDate:
      return static_cast<std::int64_t>(parts.size());
  }
  return 0;
}

const char* Column::part_name(std::size_t part) const {
  return elapsed_from && part + 1 == parts.size() ? "elapsed" : kDateParts[part].name;
}

double Column::part_value(std::size_t part, const Date& date) const {
  if (!elapsed_from || part + 1 != parts.size()) return date.*kDateParts[part].value;
  constexpr double kDay = 86400, kNanosecond = 1e-9;
  const Instant instant = instant_of(date);
  return (static_cast<double>(instant.second - *elapsed_from) + instant.nanosecond * kNanosecond) / kDay;
}

json columns_json(const std::vector<Column>& columns) {
  json out = json::array();
  for (const Column& column : columns) {
    json entry = {{"name", column.name}, {"missing", column.missing}, {"unique", column.unique}};
    switch (column.kind) {
      case ColumnKind::kNumber:
        entry.update(stats_json(column.stats));
        entry.update({{"kind", "number"}, {"missing_becomes", column.keeps_missing ? kKeepsMissing : "mean"}});
        break;
      case ColumnKind::kCategory:
        entry.update({{"kind", "category"}, {"categories", column.categories}, {"missing_becomes", "zeros"}});
        if (!column.unseen.empty()) entry["unseen"] = column.unseen;
        break;
      case ColumnKind::kDate: {
        json parts = json::array();
        for (std::size_t i = 0; i < column.parts.size(); ++i) {
          parts.push_back(stats_json(column.parts[i]));
          parts.back()["part"] = column.part_name(i);
        }
        if (column.elapsed_from) parts.back()["from"] = *column.elapsed_from;
        entry.update({{"kind", "date"},
                      {"parts", std::move(parts)},
                      {"missing_becomes", column.keeps_missing ? kKeepsMissing : "mean"}});
        break;
      }
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Result<std::vector<Column>> parse_columns(const json& columns) {
  if (!columns.is_array()) return Error{Code::kDataLoss, "schema: \"columns\" is no list", ""};
  std::vector<Column> out;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    LANISTA_ASSIGN(out.emplace_back(), parse_column(columns[i], i));
  }
  return out;
}

Normalization normalization_of(const std::vector<Column>& columns) {
  Normalization out{.mean = {}, .scale = {}};
  const auto add = [&](double mean, double scale) {
    out.mean.push_back(mean);
    out.scale.push_back(scale);
  };
  for (const Column& column : columns) {
    if (column.kind == ColumnKind::kNumber) add(column.stats.mean, column.stats.scale);
    for (std::size_t i = 0; i < column.categories.size(); ++i) add(0, 1);
    for (const NumberStats& part : column.parts) add(part.mean, part.scale);
  }
  return out;
}

}  // namespace lanista::data
