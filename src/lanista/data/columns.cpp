#include "lanista/data/columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanista::data {
namespace {

using nlohmann::json;

Error broken(std::size_t index, const std::string& message) {
  return {Code::kDataLoss, "schema: column " + std::to_string(index) + ": " + message, ""};
}

Result<double> number_at(const json& column, std::size_t index, const char* key) {
  const auto it = column.find(key);
  if (it == column.end() || !it->is_number() || !std::isfinite(it->get<double>())) {
    return broken(index, "\"" + std::string(key) + "\" is no finite number");
  }
  return it->get<double>();
}

Result<Column> parse_column(const json& json_column, std::size_t index) {
  if (!json_column.is_object()) return broken(index, "is no object");
  Column out;
  const auto text = [&](const char* key) {
    const auto it = json_column.find(key);
    return it != json_column.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  out.name = text("name");
  const std::string kind = text("kind");
  if (kind != "number" && kind != "category") {
    return broken(index, "\"kind\" is \"" + kind + "\", allowed are number and category");
  }
  for (const auto& [key, value] : {std::pair("missing", &out.missing), {"unique", &out.unique}}) {
    const auto it = json_column.find(key);
    if (it == json_column.end() || !it->is_number_integer()) {
      return broken(index, "\"" + std::string(key) + "\" is no whole number");
    }
    *value = it->get<std::int64_t>();
  }
  if (kind == "number") {
    for (const auto& [key, value] :
         {std::pair("mean", &out.mean), {"scale", &out.scale}, {"min", &out.min}, {"max", &out.max}}) {
      LANISTA_ASSIGN(*value, number_at(json_column, index, key));
    }
    return out;
  }
  out.kind = ColumnKind::kCategory;
  const auto categories = json_column.find("categories");
  if (categories == json_column.end() || !categories->is_array() ||
      !std::ranges::all_of(*categories, [](const json& c) { return c.is_string(); })) {
    return broken(index, "\"categories\" is no list of texts");
  }
  out.categories = categories->get<std::vector<std::string>>();
  if (std::ranges::adjacent_find(out.categories, std::greater_equal<>()) != out.categories.end()) {
    return broken(index, "\"categories\" are not sorted, or one stands twice");
  }
  return out;
}

}  // namespace

json columns_json(const std::vector<Column>& columns) {
  json out = json::array();
  for (const Column& column : columns) {
    json entry = {{"name", column.name}, {"missing", column.missing}, {"unique", column.unique}};
    if (column.kind == ColumnKind::kNumber) {
      entry.update({{"kind", "number"},
                    {"mean", column.mean},
                    {"scale", column.scale},
                    {"min", column.min},
                    {"max", column.max},
                    {"missing_becomes", "mean"}});
    } else {
      entry.update({{"kind", "category"}, {"categories", column.categories}, {"missing_becomes", "zeros"}});
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
  for (const Column& column : columns) {
    const auto width = static_cast<std::size_t>(column.width());
    const bool number = column.kind == ColumnKind::kNumber;
    out.mean.insert(out.mean.end(), width, number ? column.mean : 0);
    out.scale.insert(out.scale.end(), width, number ? column.scale : 1);
  }
  return out;
}

}  // namespace lanista::data
