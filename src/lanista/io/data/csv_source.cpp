#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "lanista/base/csv.h"
#include "lanista/io/data/csv_remarks.h"
#include "lanista/io/data/origin.h"
#include "lanista/io/data/readers.h"
#include "lanista/io/data/row_order.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kMaxTable = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxSchema = std::uint64_t{1} << 24;

Error malformed(std::string message) { return {Code::kDataLoss, "csv: " + std::move(message), ""}; }

Result<char> separator_of(const Source& source) {
  const std::string sep = unescaped(source.value("sep").value_or(""));
  if (sep.empty()) return char{0};
  if (sep == "tab") return '\t';
  if (sep == "space") return ' ';
  if (sep.size() != 1 || sep == "\"" || sep == "\n" || sep == "\r" || static_cast<unsigned char>(sep[0]) >= 0x80) {
    return source.error("sep is \"" + sep + "\", allowed is one character, tab, or space for one or more blanks");
  }
  return sep[0];
}

/// The texts of keep_na=: those that usually mean a missing value, or some of
/// them.
Result<std::vector<std::string>> kept_texts(const Source& source, const CellNotation& notation) {
  const auto value = source.value("keep_na");
  if (!value || *value == "no") return std::vector<std::string>();
  const std::vector<std::string> all{"?",   "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A",  "NA",  "NULL",
                                     "NaN", "None", "n/a",      "nan", "null", "-NaN", "-nan"};
  if (*value == "yes") return all;
  std::vector<std::string> texts = split_at_commas(*value);
  for (const std::string& text : texts) {
    if (!text.empty() && notation.is_usually_missing(text)) continue;
    return source.error("keep_na is \"" + *value + "\", allowed are yes, no, or texts that mean a missing value, " +
                        "such as NA and None; \"" + text + "\" does not mean that");
  }
  return texts;
}

Result<CellNotation> notation_of(const Source& source, std::int64_t rules) {
  CellNotation notation;
  notation.rules = rules;
  if (const auto decimal = source.value("decimal")) {
    if (*decimal != "." && *decimal != ",") {
      return source.error("decimal is \"" + *decimal + "\", allowed are . and ,");
    }
    notation.decimal = decimal->front();
  }
  if (const auto missing = source.value("missing")) notation.missing = split_at_commas(*missing);
  const std::vector<std::string> written = rules > study::kFirstRules ? notation.missing : std::vector<std::string>();
  for (const std::string& text : written) {
    if (unescaped(text) != text) notation.missing.push_back(unescaped(text));
  }
  LANISTA_ASSIGN(notation.kept, kept_texts(source, notation));
  return notation;
}

bool has_generated_names(const std::vector<std::string>& header) {
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (header[c] != "c" + std::to_string(c)) return false;
  }
  return true;
}

/// What is known of the header of a file before it is read.
struct ExpectedHeader {
  std::vector<std::string> names;  ///< Names that it may have.
  bool is_absent = false;          ///< True: files of this data set have none.
};

/// Reads the cells of a file. Where none has a header, the first line is a row unless it has the names "c0", "c1", …; a
/// warning is added to `warnings` if it looks like other names. With header=yes its names count as these.
Result<formats::CsvTable> load_cells(const ReadRequest& request, const std::string& path, ExpectedHeader expected,
                                     std::vector<std::string>& warnings) {
  formats::CsvOptions options;
  if (request.rules > study::kFirstRules) {
    options.header_rule = formats::HeaderRule::kTypesBelow;
    options.finds_separator = true;
  }
  options.known_names = std::move(expected.names);
  LANISTA_ASSIGN(const std::string header, request.source.choice("header", {"auto", "yes", "no"}));
  if (header != "auto") options.header = header == "yes";
  LANISTA_ASSIGN(options.separator, separator_of(request.source));
  options.joins_blanks = request.source.value("sep") == "space";
  LANISTA_ASSIGN(const std::string text, load_file(*request.fs, path, kMaxTable));
  auto table = formats::parse_csv(text, options);
  const bool has_other_names = request.rules > study::kFirstRules && expected.is_absent && table &&
                               table->has_header() && !has_generated_names(table->header());
  if (has_other_names && header == "auto") {
    warnings.push_back("the first line of " + path +
                       " is read as a row, since the data set has no names of columns, but it looks like names; "
                       "header=yes leaves it out");
    options.header = false;
    table = formats::parse_csv(text, options);
  } else if (has_other_names) {
    table->forget_names();
  }
  if (!table) return with_file(with_content_hint(text, table.error()), path);
  if (table->rows() == 0) return with_file(malformed("there is a header and no row"), path);
  return table;
}

Result<TableRoles> roles_of(const ReadRequest& request, const std::vector<std::string>& header) {
  const Source& source = request.source;
  const auto schema = source.value("schema");
  if (!schema) return roles_from_source(source, header);
  for (const char* other : {"target", "drop", "task", "numeric", "categorical", "categories", "dates"}) {
    if (source.value(other)) return source.error("schema= declares the columns; leave out " + std::string(other));
  }
  const std::string path = request.path(*schema);
  LANISTA_ASSIGN(const std::string text, load_file(*request.fs, path, kMaxSchema));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return Error{Code::kInvalidArgument, "schema: this is no JSON", path};
  auto roles = roles_from_schema(json, header, request.rules);
  if (!roles) return with_file(roles.error(), path);
  LANISTA_TRY(add_row_roles(source, header, *roles));
  return roles;
}

/// The columns of another file: by name, or by position in a file without names
/// and with as many columns.
Result<std::vector<std::size_t>> find_all(const std::vector<std::string>& names, const std::vector<std::string>& header,
                                          const char* what) {
  std::vector<std::size_t> indices;
  const bool by_position = has_generated_names(header) && header.size() == names.size();
  std::string lacking;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto count = std::ranges::count(header, names[i]);
    if (count > 1) return malformed("there are " + std::to_string(count) + " columns called \"" + names[i] + "\"");
    const auto at = index_of_name(header, names[i]);
    if (!at) lacking += (lacking.empty() ? "\"" : ", \"") + names[i] + "\"";
    if (!at && names[i].empty()) {
      lacking +=
          ", which has no name in the data set, as the row numbers that pandas writes (train with drop= without it)";
    }
    indices.push_back(by_position ? i : at.value_or(0));
  }
  if (!lacking.empty() && !by_position) {
    const bool has_no_names = has_generated_names(header);
    return malformed("the file lacks the " + std::string(what) + " " + lacking +
                     (has_no_names ? "; its first line has no names: add them, or give these columns alone" : ""));
  }
  return indices;
}

/// The columns of samples that are plain numbers: all except the targets, if
/// there are as many more columns.
struct ColumnIndices {
  std::vector<Column> columns;
  std::vector<std::size_t> indices;
  std::vector<std::size_t> targets;  ///< empty: the rows have none
};

Result<ColumnIndices> find_columns(const ReadRequest& request, const std::vector<std::string>& header) {
  const DataSpec& expected_spec = *request.expected_spec;
  const auto width = static_cast<std::size_t>(expected_spec.features.elements_per_sample());
  const auto requested = static_cast<std::size_t>(expected_spec.classes > 0 ? 1 : expected_spec.target_size);
  ColumnIndices out;
  if (header.size() == width + requested) {
    LANISTA_ASSIGN(TableRoles roles, roles_from_source(request.source, header));
    out.targets = std::move(roles.targets);
    if (!request.source.value("target")) {
      out.targets.resize(requested);
      std::iota(out.targets.begin(), out.targets.end(), width);
    }
    if (out.targets.size() != requested) {
      return request.source.error("target= names " + std::to_string(out.targets.size()) + " columns, there are " +
                                  std::to_string(requested) + " targets");
    }
  } else if (header.size() != width) {
    return malformed(std::to_string(header.size()) + " columns; samples " + expected_spec.features.text() + " need " +
                     std::to_string(width) + ", or " + (requested == 1 ? "one" : std::to_string(requested)) +
                     " more for the target" + (requested == 1 ? "" : "s"));
  }
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (std::ranges::find(out.targets, c) != out.targets.end()) continue;
    out.columns.emplace_back().name = header[c];
    out.indices.push_back(c);
  }
  return out;
}

std::vector<std::string> class_names(const DataSpec& expected_spec) {
  if (!expected_spec.labels.empty()) return expected_spec.labels;
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < expected_spec.classes; ++c) names.push_back(std::to_string(c));
  return names;
}

/// Reads rows of a table as samples of a known data set.
Result<LoadedRows> rows_of_expected_columns(const ReadRequest& request, Table& table) {
  const DataSpec& expected_spec = *request.expected_spec;
  ColumnIndices plain;
  if (expected_spec.schema.is_null()) {
    LANISTA_ASSIGN(plain, find_columns(request, table.header()));
  } else {
    LANISTA_ASSIGN(plain.columns, parse_columns(expected_spec.schema.at("columns")));
    std::vector<std::string> names;
    for (const Column& column : plain.columns) names.push_back(column.name);
    LANISTA_ASSIGN(plain.indices, find_all(names, table.header(), "feature columns"));
    for (std::size_t i = 0; i < plain.columns.size(); ++i) {
      if (plain.columns[i].kind != ColumnKind::kCategory) continue;
      table.keep_na_in(plain.indices[i]);
      if (request.rules > study::kFirstRules) table.unify_booleans(plain.indices[i], plain.columns[i].categories);
    }
    for (const std::string& name : target_names(expected_spec)) {
      const auto at = static_cast<std::size_t>(std::ranges::find(table.header(), name) - table.header().begin());
      const bool is_feature = std::find(plain.indices.begin(), plain.indices.end(), at) != plain.indices.end();
      if (at < table.header().size() && !is_feature) plain.targets.push_back(at);
    }
    // Without one of several targets the rows cannot be compared.
    if (plain.targets.size() != target_names(expected_spec).size()) plain.targets.clear();
    if (expected_spec.classes > 0 && plain.targets.size() == 1) table.keep_na_in(plain.targets.front());
  }
  LANISTA_ASSIGN(EncodedRows rows, encode_rows(table, plain.indices, plain.columns, expected_spec.origin));
  if (expected_spec.schema.is_null() && rows.missing > 0) {
    return malformed("a number is missing, and the data set has no rule for it");
  }
  LoadedRows found;
  RawData& out = found.raw;
  out.spec.features = expected_spec.features;
  out.features = std::move(rows.features);
  out.missing = rows.missing;
  out.unknown = rows.unknown;
  if (rows.unknown > 0) {
    out.data_warnings.push_back(std::to_string(rows.unknown) +
                                (rows.unknown == 1 ? " cell holds a category" : " cells hold categories") +
                                " that the model does not know (" + rows.first_unknown_location + ") and " +
                                (rows.unknown == 1 ? "counts" : "count") + " as missing");
  }
  if (!plain.targets.empty()) {
    if (request.rules > study::kFirstRules && plain.targets.size() == 1) {
      table.unify_booleans(plain.targets.front(), class_names(expected_spec));
    }
    LANISTA_ASSIGN(auto target,
                   read_known_target(table, plain.targets, class_names(expected_spec), expected_spec.multilabel));
    if (target) {
      out.labels = std::move(target->labels);
      out.targets = std::move(target->numbers);
      if (const auto& origin = expected_spec.target_origin; !origin.empty()) {
        out.targets = floats_less_origin(exact_numbers(table, plain.targets), origin.size(), origin);
      }
      found.rows_without_target = std::move(target->unknown);
    }
  }
  return found;
}

/// Appends the rows of test= to those of the file.
Result<void> add_test_file(const ReadRequest& request, Table& table, RawData& raw) {
  const auto test = request.source.value("test");
  if (!test) return {};
  const std::string path = request.path(*test);
  LANISTA_ASSIGN(
      const formats::CsvTable cells,
      load_cells(request, path, {.names = table.header(), .is_absent = !table.has_header()}, raw.data_warnings));
  auto columns = find_all(table.header(), cells.header(), "columns");
  if (!columns) return with_file(columns.error(), path);
  report_header(cells, *test, raw);
  return table.add_file(cells, *columns, *test);
}

/// Adds the columns that decide the split.
Result<void> add_split_columns(const Table& table, const SplitColumnRoles& by, LoadedRows& found) {
  found.test = table.rows_of_second_file();
  if (by.group) {
    LANISTA_ASSIGN(found.groups, group_numbers(table, *by.group));
  }
  if (by.order) {
    LANISTA_ASSIGN(found.times, times_of(table, *by.order));
  }
  return {};
}

}  // namespace

namespace {

/// The header of new rows of a known data set.
ExpectedHeader expected_header(const DataSpec* spec) {
  if (spec == nullptr || spec->schema.is_null()) return {};
  ExpectedHeader out{.names = target_names(*spec)};
  const auto columns = parse_columns(spec->schema.at("columns"));
  for (std::size_t c = 0; columns && c < columns->size(); ++c) out.names.push_back((*columns)[c].name);
  out.is_absent = std::ranges::all_of(out.names, is_generated_name);
  return out;
}

}  // namespace

Result<LoadedRows> read_csv(const ReadRequest& request) {
  if (request.source.argument.empty()) return request.source.error("expected a file, csv:FILE?target=COLUMN");
  LANISTA_ASSIGN(const std::string task, request.source.choice("task", table_tasks()));
  const std::string path = request.path(request.source.argument);
  LANISTA_ASSIGN(CellNotation notation, notation_of(request.source, request.rules));
  LoadedRows found;
  LANISTA_ASSIGN(formats::CsvTable cells,
                 load_cells(request, path, expected_header(request.expected_spec), found.raw.data_warnings));
  found.raw.spec.name = stem_of(path);
  if (request.rules > study::kFirstRules) report_header(cells, "", found.raw);
  Table table(std::move(cells), std::move(notation));
  if (request.expected_spec != nullptr) {
    auto rows = rows_of_expected_columns(request, table);
    if (!rows) return with_file(rows.error(), path);
    std::ranges::move(found.raw.data_warnings, std::back_inserter(rows->raw.data_warnings));
    rows->raw.spec.name = found.raw.spec.name;
    return rows;
  }
  LANISTA_TRY(add_test_file(request, table, found.raw));
  auto readable = roles_of(request, table.header());
  if (!readable) return with_header_hint(request.source, table, with_separator_hint(table, readable.error()));
  TableRoles roles = *std::move(readable);
  unify_booleans(roles, table);
  keep_na_texts(roles, table);
  const std::string dropped = drop_rows_without_target(roles, table);
  if (table.rows() == 0)
    return with_file(malformed("no row has a target; " + dropped + unnamed_target_hint(table, roles)), path);
  if (!dropped.empty()) found.raw.data_warnings.push_back(dropped);
  auto target = read_target(table, roles.targets, roles.task);
  if (!target) {
    Error error = target.error();
    if (!dropped.empty()) error.message += "; " + dropped;
    return with_file(std::move(error), path);
  }
  if (request.rules > study::kFirstRules) {
    if (!target->decision.empty()) found.raw.decisions.push_back({"target", target->decision});
    const std::string warning = target_notation_warning(roles, table);
    if (!warning.empty()) found.raw.data_warnings.push_back(warning);
  }
  if (roles.weight) {
    auto weights = read_weights(table, *roles.weight);
    if (!weights) return with_file(weights.error(), path);
    found.raw.weights = *std::move(weights);
  }
  if (auto by = add_split_columns(table, roles.by, found); !by) return with_file(by.error(), path);
  DataSpec& spec = found.raw.spec;
  spec.classes = static_cast<std::int64_t>(target->names.size());
  spec.labels = std::move(target->names);
  found.raw.labels = std::move(target->labels);
  found.raw.targets = std::move(target->numbers);
  spec.multilabel = target->multilabel;
  if (spec.classes == 0) spec.target_size = static_cast<std::int64_t>(roles.targets.size());
  if (spec.classes == 0 && !spec.multilabel) found.raw.exact_targets = exact_numbers(table, roles.targets);
  found.columns = {std::move(table), std::move(roles)};
  return found;
}

}  // namespace lanista::data
