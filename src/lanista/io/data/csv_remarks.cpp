#include "lanista/io/data/csv_remarks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "lanista/base/utf8.h"
#include "lanista/io/data/column_warnings.h"

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
    for (const std::string& name : split_at_commas(source.value(option).value_or(""))) {
      if (!name.empty()) out.push_back(unescaped(name));
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

Error with_separator_hint(const Table& table, Error error) {
  if (table.header().size() != 1) return error;
  const std::string first(table.has_header() ? std::string_view(table.header()[0]) : table.cell(0, 0));
  const auto at = first.find_first_of("|:^~/ ");
  const std::string separator = at == std::string::npos ? "…" : first[at] == ' ' ? "space" : std::string(1, first[at]);
  error.message += "; the first line is one cell, \"" + first.substr(0, 64) + "\": sep=" + separator +
                   (separator == "space" ? " reads cells between blanks" : " names what stands between cells");
  return error;
}

Error with_content_hint(std::string_view bytes, Error error) {
  using Signature = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Signature, 6> kPacked{
      Signature{"\3757zXZ", "xz"}, {"BZh", "bzip2"}, {"\x28\xB5\x2F\xFD", "zstd"},
      {"7z\xBC\xAF", "7-Zip"},     {"Rar!", "RAR"},  {"PK\x03\x04", "zip"}};
  const bool is_text = find_invalid_utf8(bytes) == std::string_view::npos;
  const auto packed =
      std::ranges::find_if(kPacked, [&](const Signature& each) { return bytes.starts_with(each.first); });
  constexpr std::size_t kSearched = 4096;
  const std::string_view begin = bytes.substr(0, kSearched);
  const bool is_workbook = begin.find("[Content_Types].xml") != begin.npos || begin.find("mimetypeappl") != begin.npos;
  if (!is_text && (bytes.starts_with("\xD0\xCF\x11\xE0") || (bytes.starts_with("PK\x03\x04") && is_workbook))) {
    error.message = "csv: the file is a workbook of a spreadsheet; save the sheet as CSV";
  } else if (!is_text && packed != kPacked.end()) {
    error.message = "csv: the file is packed with " + std::string(packed->second) + "; unpack it, or pack it with gzip";
  } else if (error.message.find("the first line has") != std::string::npos) {
    const bool comments =
        bytes.starts_with("#") || bytes.starts_with("\xEF\xBB\xBF#") || bytes.find("\n#") != std::string_view::npos;
    if (comments) error.message += "; lines that begin with # are not left out: remove comments from the file";
    if (!comments && error.message.ends_with("has 1")) {
      error.message += "; remove lines above the table, or name with sep= what stands between cells";
    }
  }
  return error;
}

std::string unnamed_target_hint(const Table& table, const TableRoles& roles) {
  if (!table.header()[roles.targets.front()].empty()) return "";
  return "; that column has no name, as after a separator at the end of each line: target=NAME names another column";
}

void report_header(const formats::CsvTable& cells, const std::string& name, RawData& raw) {
  if (name.empty()) {
    raw.decisions.push_back({"header", cells.has_header() ? "first line"
                                                          : "none: the first line is a row, columns are c0, c1, …; "
                                                            "header=yes reads it as names"});
  }
  if (cells.has_header() && cells.header().front().starts_with('#')) {
    raw.data_warnings.push_back("the first line" + (name.empty() ? "" : " of " + name) +
                                " begins with # and is read as names of columns; remove the # or a line of comment");
  }
  if (!cells.is_header_doubtful()) return;
  raw.data_warnings.push_back(
      "the first line" + (name.empty() ? "" : " of " + name) +
      (cells.has_header()
           ? " is read as names of columns, but may be a row; header=no reads it as a row, header=yes keeps this"
           : " is read as a row, but may have names of columns; header=yes reads it as names, header=no keeps this"));
}

void unify_booleans(const TableRoles& roles, Table& table) {
  if (table.notation().rules == study::kFirstRules) return;
  static const std::vector<std::string> kSpelling{"False", "True"};
  const auto unify = [&](std::size_t column, const std::vector<std::string>& declared) {
    if (!declared.empty()) return table.unify_booleans(column, declared);
    std::set<std::string_view> spellings;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto text = table.text(row, column);
      if (text.empty()) continue;
      if (!boolean_of(text)) return;
      spellings.insert(text);
    }
    const auto times = [&](bool value) {
      return std::ranges::count_if(spellings, [&](std::string_view text) { return boolean_of(text) == value; });
    };
    if (times(false) > 1 || times(true) > 1) table.unify_booleans(column, kSpelling);
  };
  for (const std::size_t column : roles.targets) unify(column, {});
  for (const ColumnDeclaration& column : roles.features) {
    if (column.kind.value_or(ColumnKind::kCategory) == ColumnKind::kCategory) unify(column.index, column.categories);
  }
  if (roles.by.group) unify(*roles.by.group, {});
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

std::string target_notation_warning(const TableRoles& roles, const Table& table) {
  const std::size_t column = roles.targets.front();
  if (roles.task != "auto" || roles.targets.size() > 1 || !holds_text(table, column)) return {};
  const std::string warning = decimal_warning(table, column);
  return warning.empty() ? warning : "target \"" + table.header()[column] + "\": " + warning;
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
