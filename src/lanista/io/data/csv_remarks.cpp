#include "lanista/io/data/csv_remarks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lanista::data {
namespace {

/// Whether a column has a text other than a number, or no value at all.
bool holds_text(const Table& table, std::size_t column) {
  bool present = false;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = table.text(row, column);
    if (!text.empty() && !table.number(text)) return true;
    present |= !text.empty();
  }
  return !present;
}

/// The columns that the options of a source name.
std::vector<std::string> names_in_options(const Source& source) {
  std::vector<std::string> out;
  for (const char* option : {"target", "drop", "numeric", "categorical", "dates", "group", "order", "weight"}) {
    for (std::string& name : split_at_commas(source.value(option).value_or(""))) {
      if (!name.empty()) out.push_back(std::move(name));
    }
  }
  return out;
}

}  // namespace

bool is_generated_name(const std::string& name) {
  return name.size() > 1 && name[0] == 'c' && name.find_first_not_of("0123456789", 1) == std::string::npos;
}

Error with_header_hint(const Source& source, const Table& table, Error error) {
  if (source.value("header").value_or("auto") != "auto") return error;
  for (const std::string& name : names_in_options(source)) {
    if (std::ranges::find(table.header(), name) != table.header().end()) continue;
    bool is_first = false;
    for (std::size_t c = 0; c < table.header().size(); ++c) is_first |= table.cell(0, c) == name;
    if (!table.has_header() && is_first) {
      error.message += "; the first line holds \"" + name + "\": header=yes reads it as names";
      break;
    }
    if (table.has_header() && is_generated_name(name)) {
      error.message += "; the first line has the names, header=no reads it as a row";
      break;
    }
  }
  return error;
}

void report_header(const formats::CsvTable& cells, const std::string& name, RawData& raw) {
  if (name.empty()) {
    raw.decisions.push_back({"header", cells.has_header() ? "first line"
                                                          : "none: the first line is a row, columns are c0, c1, …; "
                                                            "header=yes reads it as names"});
  }
  if (!cells.is_header_doubtful()) return;
  raw.data_warnings.push_back(
      "the first line" + (name.empty() ? "" : " of " + name) +
      (cells.has_header()
           ? " is read as names of columns, but may be a row; header=no reads it as a row, header=yes keeps this"
           : " is read as a row, but may have names of columns; header=yes reads it as names, header=no keeps this"));
}

void keep_na_texts(const TableRoles& roles, Table& table) {
  if (table.notation().kept.empty()) return;
  for (const std::size_t column : roles.targets) {
    if (roles.task == "classes" || (roles.task == "auto" && holds_text(table, column))) table.keep_na_in(column);
  }
  for (const ColumnDeclaration& column : roles.features) {
    const bool keeps = column.kind ? column.kind == ColumnKind::kCategory : holds_text(table, column.index);
    if (keeps) table.keep_na_in(column.index);
  }
  if (roles.by.group) table.keep_na_in(*roles.by.group);
}

std::string drop_rows_without_target(const TableRoles& roles, Table& table) {
  std::map<std::string, std::int64_t> counts;
  const std::size_t all = table.rows();
  for (const std::size_t column : roles.targets) {
    for (std::size_t row = 0; row < all; ++row) {
      if (table.text(row, column).empty()) ++counts[std::string(table.cell(row, column).substr(0, 64))];
    }
  }
  const bool several = roles.targets.size() > 1;
  std::string names, cells, keep;
  for (const std::size_t column : roles.targets) {
    names += (names.empty() ? "\"" : ", \"") + table.header()[column] + "\"";
  }
  for (const auto& [text, count] : counts) {
    cells += (cells.empty() ? ": " : ", ") + std::to_string(count) + (count == 1 ? " cell is " : " cells are ") +
             (text.empty() ? "empty" : "\"" + text + "\"");
    const bool is_option = std::ranges::find(table.notation().missing, text) != table.notation().missing.end();
    if (!text.empty() && !is_option && table.notation().is_usually_missing(text))
      keep += (keep.empty() ? "" : ",") + text;
  }
  const bool helps = !several && roles.task != "numbers" && holds_text(table, roles.targets.front());
  keep = keep.empty() || !helps ? "" : "; keep_na=" + keep + " keeps that as a class";
  const std::int64_t dropped = table.drop_rows_with_missing(roles.targets);
  if (dropped == 0) return {};
  return std::to_string(dropped) + " of " + std::to_string(all) +
         (several ? (dropped == 1 ? " rows lacks" : " rows lack") + std::string(" one of the targets (")
                  : (dropped == 1 ? " rows has" : " rows have") + std::string(" no target (")) +
         names + ") and " + (dropped == 1 ? "is" : "are") + " left out" + cells + keep;
}

}  // namespace lanista::data
