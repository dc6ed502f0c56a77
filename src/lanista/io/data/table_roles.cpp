#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/parse_number.h"
#include "lanista/base/text_cursor.h"
#include "lanista/io/data/table.h"

namespace lanista::data {
namespace {

using nlohmann::json;

/// The most categories of a column. Each is a feature: a row of so many needs 16 KiB.
constexpr std::int64_t kMaxKeptCategories = 4096;

struct KindName {
  ColumnKind kind;
  std::string_view in_schema;
  const char* option;  ///< of the source; it lists columns of the kind
};
constexpr std::array<KindName, 3> kKinds{{{ColumnKind::kNumber, "number", "numeric"},
                                          {ColumnKind::kCategory, "category", "categorical"},
                                          {ColumnKind::kDate, "date", "dates"}}};

Error invalid_columns(std::string message) { return {Code::kInvalidArgument, "schema: " + std::move(message), ""}; }

std::string text_at(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// Checks that the keys of a part of a schema are some of `usual`, or of `stored`, which a model package has in
/// addition. `is_stored`: the part has the form of a package.
Result<void> check_keys(const json& object, const std::string& what, const std::vector<std::string>& usual,
                        const std::vector<std::string>& stored, bool is_stored) {
  for (const auto& [key, unused] : object.items()) {
    if (std::ranges::find(usual, key) != usual.end()) continue;
    const bool is_known = std::ranges::find(stored, key) != stored.end();
    if (is_known && is_stored) continue;
    std::string allowed;
    for (const std::string& name : usual) allowed += (allowed.empty() ? "" : ", ") + name;
    const std::string nearest = is_known ? "" : nearest_name(key, usual);
    return invalid_columns(what + ": " +
                           (is_known ? "\"" + key + "\" is computed from the rows" : "unknown key \"" + key + "\"") +
                           (nearest.empty() ? "" : ", did you mean \"" + nearest + "\"?") + "; allowed are " + allowed);
  }
  return {};
}

Result<void> check_schema_keys(const json& schema) {
  static const std::vector<std::string> kOfColumn{"name", "kind", "categories"};
  static const std::vector<std::string> kStored{"missing", "unique", "missing_becomes", "mean", "scale",
                                                "min",     "max",    "unseen",          "parts"};
  bool is_stored = true;
  for (const json& column : schema["columns"]) {
    if (!column.is_object()) return invalid_columns("a column is no object");
    const bool has_counts = column.contains("missing") && column.contains("unique");
    is_stored &= has_counts;
    LANISTA_TRY(check_keys(column, "column \"" + text_at(column, "name") + "\"", kOfColumn, kStored, has_counts));
  }
  LANISTA_TRY(check_keys(schema, "the file", {"columns", "target"}, {"weight", "holdout"}, is_stored));
  const json& target = schema["target"];
  if (target.contains("name") && target.contains("names")) {
    return invalid_columns("the target has both \"name\" and \"names\"; \"names\" is for several targets");
  }
  return check_keys(target, "the target", {"name", "names", "kind"}, {}, false);
}

Result<ColumnDeclaration> declared_column(const json& entry, const std::vector<std::string>& header) {
  if (!entry.is_object()) return invalid_columns("a column is no object");
  ColumnDeclaration out;
  const std::string name = text_at(entry, "name"), kind = text_at(entry, "kind");
  LANISTA_ASSIGN(out.index, find_column(header, name));
  const auto known = std::ranges::find(kKinds, std::string_view(kind), &KindName::in_schema);
  if (known == kKinds.end()) {
    return invalid_columns("column \"" + name + "\": \"kind\" is \"" + kind +
                           "\", allowed are number, category and date");
  }
  out.kind = known->kind;
  const auto categories = entry.find("categories");
  if (categories == entry.end()) return out;
  if (out.kind != ColumnKind::kCategory || !categories->is_array() ||
      !std::ranges::all_of(*categories, [](const json& c) { return c.is_string(); })) {
    return invalid_columns("column \"" + name +
                           "\": \"categories\" is a list of texts, of a column of the kind \"category\"");
  }
  out.categories = categories->get<std::vector<std::string>>();
  std::ranges::sort(out.categories);
  if (std::ranges::adjacent_find(out.categories) != out.categories.end()) {
    return invalid_columns("column \"" + name + "\": a category stands twice");
  }
  return out;
}

/// The columns of a list with commas. A name may contain a comma if the list has no other one.
Result<std::vector<std::size_t>> find_listed_columns(const std::vector<std::string>& header, const std::string& names) {
  std::vector<std::size_t> out;
  for (const std::string& name : split_at_commas(names)) {
    const auto column = find_column(header, name);
    if (!column) {
      if (std::ranges::count(header, names) != 1) {
        Error error = column.error();
        const auto has_comma = [](const std::string& other) { return other.find(',') != std::string::npos; };
        if (std::ranges::any_of(header, has_comma)) error.message += "; inside a name, a comma is written %2C";
        return error;
      }
      return std::vector{static_cast<std::size_t>(std::ranges::find(header, names) - header.begin())};
    }
    out.push_back(*column);
  }
  return out;
}

/// The kinds that numeric=, categorical= and dates= declare.
Result<std::map<std::size_t, ColumnKind>> declared_kinds(const Source& source, const std::vector<std::string>& header) {
  std::map<std::size_t, ColumnKind> kinds;
  for (const auto& [kind, in_schema, option] : kKinds) {
    const auto names = source.value(option);
    if (!names) continue;
    const auto columns = find_listed_columns(header, *names);
    if (!columns) return source.error(columns.error().message);
    for (const std::size_t column : *columns) {
      if (!kinds.emplace(column, kind).second) {
        return source.error("column \"" + header[column] + "\" is declared twice");
      }
    }
  }
  return kinds;
}

}  // namespace

Result<void> add_row_roles(const Source& source, const std::vector<std::string>& header, TableRoles& roles) {
  for (const auto& [option, column] :
       {std::pair("group", &roles.by.group), {"order", &roles.by.order}, {"weight", &roles.weight}}) {
    const auto name = source.value(option);
    if (!name) continue;
    auto found = find_column(header, *name);
    if (!found) return source.error(found.error().message);
    if (roles.is_target(*found)) return source.error(std::string(option) + "= names the target \"" + *name + "\"");
    *column = *found;
  }
  if (roles.by.group && roles.by.order) return source.error("group= and order= exclude each other");
  return {};
}

std::optional<std::size_t> index_of_name(const std::vector<std::string>& header, const std::string& name) {
  if (const auto at = std::ranges::find(header, name); at != header.end()) {
    return static_cast<std::size_t>(at - header.begin());
  }
  const auto is_same = [&](const std::string& other) { return trim(other, " ") == trim(name, " "); };
  if (trim(name, " ").empty() || std::ranges::count_if(header, is_same) != 1) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find_if(header, is_same) - header.begin());
}

Result<std::size_t> find_column(const std::vector<std::string>& header, const std::string& requested) {
  const auto refuse = [](std::string message) { return Error{Code::kInvalidArgument, std::move(message), ""}; };
  const std::string last = std::to_string(header.size() - 1);
  const auto count = std::count(header.begin(), header.end(), requested);
  if (count > 1) {
    return refuse("there are " + std::to_string(count) + " columns called \"" + requested +
                  "\"; name one by its number, 0 to " + last);
  }
  if (count == 1) return static_cast<std::size_t>(std::find(header.begin(), header.end(), requested) - header.begin());
  if (const auto index = parse_number<std::size_t>(requested); index && *index < header.size()) return *index;
  for (const std::string& name : {requested, unescaped(requested)}) {
    if (const auto found = index_of_name(header, name)) return *found;
  }
  const std::string nearest = nearest_name(unescaped(requested), header);
  return refuse("no column \"" + requested + "\"" +
                (nearest.empty() ? "" : ", did you mean \"" + escaped(nearest) + "\"?") + "; there are " +
                std::to_string(header.size()) + " columns, with the numbers 0 to " + last);
}

std::string column_in_option(const std::vector<std::string>& header, std::size_t column) {
  const std::string option = escaped(header[column]);
  const auto found = find_column(header, option);
  return !option.empty() && found && *found == column ? option : std::to_string(column);
}

namespace {

/// The columns of target=: one, or several separated by commas. A name may contain a comma.
Result<std::vector<std::size_t>> columns_to_predict(const Source& source, const std::vector<std::string>& header) {
  const auto requested = source.value("target");
  if (!requested) return std::vector{header.size() - 1};
  if (std::ranges::count(header, *requested) == 1) return std::vector{*index_of_name(header, *requested)};
  auto found = find_listed_columns(header, *requested);
  if (!found) return source.error(found.error().message);
  for (auto it = found->begin(); it != found->end(); ++it) {
    if (std::find(found->begin(), it, *it) == it) continue;
    return source.error("target= names \"" + header[*it] + "\" twice");
  }
  return found;
}

std::string quoted_names(const std::vector<std::string>& header, const std::vector<std::size_t>& columns) {
  std::string out;
  for (const std::size_t column : columns) out += (out.empty() ? "\"" : ", \"") + header[column] + "\"";
  return out;
}

}  // namespace

Result<TableRoles> roles_from_source(const Source& source, const std::vector<std::string>& header) {
  TableRoles roles;
  LANISTA_ASSIGN(roles.task, source.choice("task", table_tasks()));
  LANISTA_ASSIGN(roles.targets, columns_to_predict(source, header));
  LANISTA_ASSIGN(const auto kinds, declared_kinds(source, header));
  std::set<std::size_t> dropped(roles.targets.begin(), roles.targets.end());
  if (const auto drop = source.value("drop")) {
    const auto columns = find_listed_columns(header, *drop);
    if (!columns) return source.error(columns.error().message);
    for (const std::size_t column : *columns) {
      if (roles.is_target(column)) return source.error("the target \"" + header[column] + "\" cannot be dropped");
      dropped.insert(column);
    }
  }
  LANISTA_TRY(add_row_roles(source, header, roles));
  for (const auto& column : {roles.by.group, roles.by.order}) {
    if (column && !kinds.contains(*column)) dropped.insert(*column);
  }
  if (roles.weight) dropped.insert(*roles.weight);
  for (const auto& [column, kind] : kinds) {
    if (dropped.contains(column)) {
      return source.error("column \"" + header[column] + "\" has a declared kind, yet is no feature");
    }
  }
  LANISTA_ASSIGN(const std::int64_t max_categories, source.integer("categories", 0, 1, kMaxKeptCategories));
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (dropped.contains(c)) continue;
    const auto kind = kinds.find(c);
    roles.features.push_back({.index = c,
                              .kind = kind == kinds.end() ? std::nullopt : std::optional(kind->second),
                              .categories = {},
                              .max_categories = max_categories});
  }
  if (roles.features.empty()) {
    return source.error("next to the target " + quoted_names(header, roles.targets) + " no column is left");
  }
  // New rows are read by names.
  std::vector<std::size_t> used = roles.targets;
  for (const ColumnDeclaration& column : roles.features) used.push_back(column.index);
  std::set<std::string_view> names;
  for (const std::size_t column : used) {
    if (!names.insert(header[column]).second) {
      return source.error("two columns are called \"" + header[column] +
                          "\"; leave one out with drop=" + std::to_string(column));
    }
  }
  return roles;
}

Result<TableRoles> roles_from_schema(const json& schema, const std::vector<std::string>& header, std::int64_t rules) {
  if (!schema.is_object() || !schema.contains("columns") || !schema["columns"].is_array() ||
      !schema.contains("target") || !schema["target"].is_object()) {
    return invalid_columns("expected {\"columns\": [{\"name\", \"kind\"}…], \"target\": {\"name\"}}");
  }
  if (rules > study::kFirstRules) LANISTA_TRY(check_schema_keys(schema));
  const json& target = schema["target"];
  TableRoles roles;
  const bool several = target.contains("names") && target["names"].is_array() && !target["names"].empty();
  for (const json& name : several ? target["names"] : json::array({text_at(target, "name")})) {
    if (!name.is_string()) return invalid_columns("\"names\" of the target is a list of texts");
    LANISTA_ASSIGN(const std::size_t column, find_column(header, name.get<std::string>()));
    if (roles.is_target(column)) return invalid_columns("target \"" + header[column] + "\" stands twice");
    roles.targets.push_back(column);
  }
  roles.task = target.contains("kind") ? text_at(target, "kind") : "auto";
  if (std::ranges::find(table_tasks(), roles.task) == table_tasks().end()) {
    return invalid_columns("target " + quoted_names(header, roles.targets) + ": \"kind\" is \"" + roles.task +
                           "\", allowed are classes, numbers and multilabel");
  }
  std::set<std::size_t> used(roles.targets.begin(), roles.targets.end());
  for (const json& entry : schema["columns"]) {
    LANISTA_ASSIGN(ColumnDeclaration column, declared_column(entry, header));
    if (!used.insert(column.index).second) {
      return invalid_columns("column \"" + header[column.index] + "\" stands twice");
    }
    roles.features.push_back(std::move(column));
  }
  if (roles.features.empty()) return invalid_columns("\"columns\" is empty");
  return roles;
}

}  // namespace lanista::data
