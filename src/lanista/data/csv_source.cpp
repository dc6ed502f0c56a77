#include <algorithm>
#include <utility>

#include "lanista/data/readers.h"
#include "lanista/formats/csv.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kMaxTable = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxSchema = std::uint64_t{1} << 24;

Error broken(std::string message) { return {Code::kDataLoss, "csv: " + std::move(message), ""}; }

Result<char> separator_of(const Source& source) {
  const std::string sep = source.value("sep").value_or("");
  if (sep.empty()) return char{0};
  if (sep == "tab") return '\t';
  if (sep.size() != 1 || sep == "\"" || sep == "\n" || sep == "\r" || static_cast<unsigned char>(sep[0]) >= 0x80) {
    return source.error("sep is \"" + sep + "\", allowed is one character, or tab");
  }
  return sep[0];
}

Result<formats::CsvTable> load_table(const Request& request, const std::string& path) {
  formats::CsvOptions options;
  LANISTA_ASSIGN(const std::string header, request.source.choice("header", {"auto", "yes", "no"}));
  if (header != "auto") options.header = header == "yes";
  LANISTA_ASSIGN(options.separator, separator_of(request.source));
  LANISTA_ASSIGN(const std::string text, load_file(*request.fs, path, kMaxTable));
  auto table = formats::parse_csv(text, options);
  if (!table) return at_file(table.error(), path);
  if (table->rows() == 0) return at_file(broken("there is a header and no row"), path);
  return table;
}

Result<TableRoles> roles_of(const Request& request, const std::vector<std::string>& header) {
  const Source& source = request.source;
  const auto schema = source.value("schema");
  if (!schema) return choose_roles(source, header);
  for (const char* other : {"target", "drop", "task", "numeric", "categorical"}) {
    if (source.value(other)) return source.error("schema= says what the columns are; leave out " + std::string(other));
  }
  const std::string path = request.path(*schema);
  LANISTA_ASSIGN(const std::string text, load_file(*request.fs, path, kMaxSchema));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return Error{Code::kInvalidArgument, "schema: this is no JSON", path};
  auto roles = declared_roles(json, header);
  if (!roles) return at_file(roles.error(), path);
  return roles;
}

bool is_nameless(const std::vector<std::string>& header) {
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (header[c] != "c" + std::to_string(c)) return false;
  }
  return true;
}

/// Where the columns of a known table lie in another file: by name, or by position in a file without names that holds
/// the features alone.
Result<std::vector<std::size_t>> find_features(const std::vector<Column>& columns,
                                               const std::vector<std::string>& header) {
  std::vector<std::size_t> indices;
  const bool by_position = is_nameless(header) && header.size() == columns.size();
  std::string lacking;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i].name;
    const auto count = std::count(header.begin(), header.end(), name);
    if (count > 1) return broken("there are " + std::to_string(count) + " columns called \"" + name + "\"");
    if (count == 0) lacking += (lacking.empty() ? "\"" : ", \"") + name + "\"";
    const auto at = std::find(header.begin(), header.end(), name) - header.begin();
    indices.push_back(by_position ? i : static_cast<std::size_t>(at));
  }
  if (!lacking.empty() && !by_position) return broken("the file lacks the feature columns " + lacking);
  return indices;
}

/// The columns of samples that are plain numbers: all but the target, if there is one column more.
struct PlainColumns {
  std::vector<Column> columns;
  std::vector<std::size_t> indices;
  std::optional<std::size_t> target;
};

Result<PlainColumns> plain_columns(const Request& request, const std::vector<std::string>& header) {
  const DataSpec& known = *request.known;
  const auto width = static_cast<std::size_t>(known.features.elements_per_sample());
  PlainColumns out;
  if (header.size() == width + 1 && (known.classes > 0 || known.target_size == 1)) {
    LANISTA_ASSIGN(const TableRoles roles, choose_roles(request.source, header));
    out.target = roles.target;
  } else if (header.size() != width) {
    return broken(std::to_string(header.size()) + " columns; samples " + known.features.text() + " need " +
                  std::to_string(width) + ", or one more for the target");
  }
  for (std::size_t c = 0; c < header.size(); ++c) {
    if (c == out.target) continue;
    out.columns.emplace_back().name = header[c];
    out.indices.push_back(c);
  }
  return out;
}

std::vector<std::string> class_names(const DataSpec& known) {
  if (!known.labels.empty()) return known.labels;
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < known.classes; ++c) names.push_back(std::to_string(c));
  return names;
}

/// Rows of a table as samples of a known data set.
Result<RawData> known_rows(const Request& request, const formats::CsvTable& table) {
  const DataSpec& known = *request.known;
  PlainColumns plain;
  if (known.schema.is_null()) {
    LANISTA_ASSIGN(plain, plain_columns(request, table.header()));
  } else {
    LANISTA_ASSIGN(plain.columns, parse_columns(known.schema.at("columns")));
    LANISTA_ASSIGN(plain.indices, find_features(plain.columns, table.header()));
    const auto target = std::find(table.header().begin(), table.header().end(),
                                  known.schema.at("target").at("name").get<std::string>());
    const auto at = static_cast<std::size_t>(target - table.header().begin());
    const bool is_feature = std::find(plain.indices.begin(), plain.indices.end(), at) != plain.indices.end();
    if (target != table.header().end() && !is_feature) plain.target = at;
  }
  LANISTA_ASSIGN(EncodedRows rows, encode_rows(table, plain.indices, plain.columns));
  if (known.schema.is_null() && rows.missing > 0) {
    return broken("a number is missing, and the data set has no rule for it");
  }
  RawData out;
  out.spec.features = known.features;
  out.features = std::move(rows.features);
  out.missing = rows.missing;
  out.unknown = rows.unknown;
  if (plain.target) {
    LANISTA_ASSIGN(auto target, read_known_target(table, *plain.target, class_names(known)));
    if (target) {
      out.labels = std::move(target->labels);
      out.targets = std::move(target->numbers);
    }
  }
  return out;
}

}  // namespace

Result<Found> read_csv(const Request& request) {
  if (request.source.argument.empty()) return request.source.error("expected a file, csv:FILE?target=COLUMN");
  LANISTA_ASSIGN(const std::string task, request.source.choice("task", {"auto", "classes", "numbers"}));
  const std::string path = request.path(request.source.argument);
  LANISTA_ASSIGN(formats::CsvTable cells, load_table(request, path));
  Found found;
  found.raw.spec.name = stem_of(path);
  if (request.known != nullptr) {
    auto rows = known_rows(request, cells);
    if (!rows) return at_file(rows.error(), path);
    found.raw = *std::move(rows);
    return found;
  }
  LANISTA_ASSIGN(TableRoles roles, roles_of(request, cells.header()));
  auto target = read_target(cells, roles.target, roles.task);
  if (!target) return at_file(target.error(), path);
  DataSpec& spec = found.raw.spec;
  spec.classes = static_cast<std::int64_t>(target->names.size());
  spec.labels = std::move(target->names);
  found.raw.labels = std::move(target->labels);
  found.raw.targets = std::move(target->numbers);
  found.table = {std::move(cells), std::move(roles)};
  return found;
}

}  // namespace lanista::data
