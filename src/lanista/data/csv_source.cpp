#include <utility>

#include "lanista/data/readers.h"
#include "lanista/data/split.h"
#include "lanista/data/table.h"
#include "lanista/formats/csv.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 30;

}  // namespace

Result<Dataset> read_csv(const Source& source, const study::DataConfig& config, const std::string& folder,
                         FileSystem& fs) {
  LANISTA_TRY(source.allow_only({"target", "header", "drop", "task"}));
  LANISTA_ASSIGN(const std::string header, source.choice("header", {"auto", "yes", "no"}));
  LANISTA_ASSIGN(const std::string task, source.choice("task", {"auto", "classes", "numbers"}));
  if (source.argument.empty()) return source.error("expected a file, csv:FILE?target=COLUMN");

  const std::string path = resolve_path(source.argument, folder);
  formats::CsvTable table;
  {
    LANISTA_ASSIGN(const std::string text, read_capped(fs, path, kMaxFile));
    formats::CsvOptions options;
    if (header != "auto") options.header = header == "yes";
    auto parsed = formats::parse_csv(text, options);
    if (!parsed) return at_file(parsed.error(), path);
    table = *std::move(parsed);
  }

  // The split comes first: what is fitted (means, categories) may look at the training part alone.
  LANISTA_ASSIGN(const TableRoles roles, choose_roles(source, table.header));
  auto target = read_target(table, roles.target, task);
  if (!target) return at_file(target.error(), path);
  const auto rows = static_cast<std::int64_t>(table.rows.size());
  LANISTA_ASSIGN(const Split split,
                 split_rows(rows, target->labels, static_cast<std::int64_t>(target->names.size()), config.split));
  auto encoded = encode_columns(table, roles.features, split[0]);
  if (!encoded) return at_file(encoded.error(), path);

  DataSpec spec;
  spec.name = stem_of(path);
  spec.source = source.text;
  spec.features.dims = {static_cast<std::int64_t>(encoded->mean.size())};
  spec.classes = static_cast<std::int64_t>(target->names.size());
  spec.labels = target->names;
  spec.feature_mean = std::move(encoded->mean);
  spec.feature_scale = std::move(encoded->scale);
  spec.schema = {
      {"columns", std::move(encoded->columns)},
      {"target", {{"name", table.header[roles.target]}, {"kind", spec.classes > 0 ? "classes" : "numbers"}}}};
  auto made = Dataset::make(std::move(spec), std::move(encoded->features), std::move(target->labels),
                            std::move(target->numbers), config);
  if (!made && made.error().code == Code::kDataLoss) return at_file(made.error(), path);
  return made;
}

}  // namespace lanista::data
