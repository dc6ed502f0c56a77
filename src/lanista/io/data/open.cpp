#include <algorithm>
#include <iterator>
#include <utility>

#include "lanista/io/data/column_warnings.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/fold_assignment.h"
#include "lanista/io/data/origin.h"
#include "lanista/io/data/readers.h"

namespace lanista::data {
namespace {

Result<Split> split_of(const LoadedRows& found, const std::array<double, 3>& fractions) {
  const RawData& raw = found.raw;
  const std::int64_t rows = found.columns ? static_cast<std::int64_t>(found.columns->table.rows()) : raw.rows();
  if (found.is_sequential) return split_blocks(rows, fractions);
  if (!found.times.empty()) return split_in_time(found.times, fractions, found.test);
  if (!found.groups.empty()) return split_groups(found.groups, raw.labels, raw.spec.classes, fractions, found.test);
  return split_rows(rows, raw.labels, raw.spec.classes, fractions, found.test, found.validation);
}

/// The JSON of one target, as in all stored studies.
nlohmann::json target_json(const Table& table, const TableRoles& roles, const DataSpec& spec) {
  nlohmann::json out{{"kind", spec.classes > 0 ? "classes" : spec.multilabel ? "multilabel" : "numbers"}};
  std::vector<std::string> names;
  for (const std::size_t column : roles.targets) names.push_back(table.header()[column]);
  if (names.size() == 1) {
    out["name"] = names.front();
  } else {
    out["names"] = names;
  }
  return out;
}

/// The fractions with a validation part. Without one, the test part is divided as if there were one.
std::array<double, 3> with_validation(std::array<double, 3> fractions) {
  if (fractions[1] > 0) return fractions;
  return {fractions[0] / 2, fractions[0] / 2, fractions[2]};
}

/// A split for each training, in the order of folds, repetition by repetition.
Result<std::vector<Split>> make_fold_splits(const LoadedRows& found, const Split& split, std::int64_t folds,
                                            std::int64_t repetitions) {
  if (folds > study::kMaxFolds / repetitions) {
    return Error{Code::kInvalidArgument,
                 std::to_string(folds) + " folds, dealt " + std::to_string(repetitions) + " times, are more than the " +
                     std::to_string(study::kMaxFolds) + " trainings that a proposal may have",
                 "data.folds"};
  }
  FoldInput deck{.rows = split[0],
                 .labels = found.raw.labels,
                 .classes = found.raw.spec.classes,
                 .groups = found.groups,
                 .times = found.times,
                 .is_sequential = found.is_sequential,
                 .names = found.raw.spec.labels};
  deck.rows.insert(deck.rows.end(), split[1].begin(), split[1].end());
  std::ranges::sort(deck.rows);
  std::vector<Split> out;
  for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
    LANISTA_ASSIGN(const FoldAssignment dealt, make_folds(deck, folds, repetition));
    for (std::size_t fold = 0; fold < dealt.folds.size(); ++fold) {
      out.push_back({dealt.train_rows(fold), dealt.folds[fold], split[2]});
    }
  }
  return out;
}

/// Whether numbers with a large mean are stored less an origin (origin.h).
bool has_origins(const study::DataConfig& config) { return config.rules > study::kFirstRules; }

/// Encodes a table as features, fitted on the training rows alone. With folds, missing values stay NaN.
Result<void> encode(const LoadedRows::Columns& found, const std::vector<std::int64_t>& train,
                    const study::DataConfig& config, RawData& raw) {
  const auto& [table, roles] = found;
  LANISTA_ASSIGN(FittedColumns fitted, fit_columns(table, roles.features, train));
  const std::vector<Column>& columns = fitted.columns;
  std::ranges::move(fitted.data_warnings, std::back_inserter(raw.data_warnings));
  std::vector<std::size_t> indices;
  for (const ColumnDeclaration& column : roles.features) indices.push_back(column.index);
  DataSpec& spec = raw.spec;
  if (has_origins(config) && config.normalize != "none") spec.origin = std::move(fitted.origin);
  LANISTA_ASSIGN(EncodedRows rows, encode_rows(table, indices, columns, spec.origin));
  spec.normalization = normalization_of(columns);
  spec.features.dims = {static_cast<std::int64_t>(spec.normalization.mean.size())};
  if (spec.features.dims[0] == 0) return Error{Code::kDataLoss, "csv: no column holds a value", ""};
  spec.schema = {{"columns", columns_json(columns)}, {"target", target_json(table, roles, spec)}};
  if (roles.weight) spec.schema["weight"] = table.header()[*roles.weight];
  raw.features = std::move(rows.features);
  raw.missing = rows.missing;
  raw.unknown = rows.unknown;
  LANISTA_TRY(check_numbers(raw));
  if (!config.folds || rows.missing == 0) return {};
  for (Column& column : fitted.columns) column.keeps_missing = true;
  LANISTA_ASSIGN(rows, encode_rows(table, indices, fitted.columns, spec.origin));
  raw.features = std::move(rows.features);
  return {};
}

/// Gives wide samples one scale, since the log and the package of a study have the statistics of each training.
void limit_feature_columns(std::size_t trainings, RawData& raw) {
  constexpr std::int64_t kMostScales = 100'000;
  const std::int64_t width = raw.spec.features.elements_per_sample();
  // With folds the specification has its own statistics next to those of the trainings.
  const auto copies = static_cast<std::int64_t>(trainings > 1 ? trainings + 1 : 1);
  if (!raw.has_feature_columns || width <= kMostScales / copies) return;
  raw.has_feature_columns = false;
  raw.data_warnings.push_back(std::to_string(width) + " features have one mean and one deviation in common; at most " +
                              std::to_string(kMostScales / copies) + " have their own" +
                              (trainings > 1 ? " with these folds" : ""));
}

struct Opened {
  RawData raw;
  std::vector<Split> splits;  ///< one, or one for each training
};

Result<Opened> open_split(const study::DataConfig& config, const std::string& folder, FileSystem& fs,
                          std::int64_t repetitions) {
  ReadRequest request{.source = {}, .folder = folder, .fs = &fs, .rules = config.rules};
  LANISTA_ASSIGN(request.source, parse_source(config.source));
  LANISTA_ASSIGN(const SourceKind* kind, source_kind_of(request.source));
  LANISTA_ASSIGN(LoadedRows found, kind->read(request));
  const std::string path = request.path(request.source.argument);
  if (auto checked = check_numbers(found.raw); !checked) return with_file(checked.error(), path);
  // The split comes before the fit of means and categories, which may use only the training part. With folds each
  // training fits its own. The columns and their categories are the same for all, so that all models have one shape.
  LANISTA_ASSIGN(Split split, split_of(found, config.folds ? with_validation(config.split) : config.split));
  std::vector<std::int64_t> seen = split[0];
  Opened out;
  if (config.folds) {
    LANISTA_ASSIGN(out.splits, make_fold_splits(found, split, *config.folds, repetitions));
    seen.insert(seen.end(), split[1].begin(), split[1].end());
    std::ranges::sort(seen);
  } else {
    out.splits.push_back(std::move(split));
  }
  if (found.columns) {
    auto encoded = encode(*found.columns, seen, config, found.raw);
    if (!encoded) return with_file(encoded.error(), path);
    found.columns.reset();
  }
  if (config.rules > study::kFirstRules && found.raw.spec.vocab == 0) {
    if (const std::string warning = case_warning(found.raw.spec.labels); !warning.empty()) {
      found.raw.data_warnings.push_back("classes " + warning);
    }
  }
  limit_feature_columns(out.splits.size(), found.raw);
  if (has_origins(config)) fit_origins(found.raw, seen, config);
  found.raw.exact_features = {};
  found.raw.exact_targets = {};
  found.raw.spec.source = request.source.text;
  found.raw.spec.rules = config.rules;
  out.raw = std::move(found.raw);
  return out;
}

}  // namespace

Result<std::pair<RawData, Split>> open_raw(const study::DataConfig& config, const std::string& folder, FileSystem& fs) {
  study::DataConfig single = config;
  if (config.folds) single.split = with_validation(config.split);
  single.folds.reset();
  LANISTA_ASSIGN(Opened opened, open_split(single, folder, fs, 1));
  return std::pair(std::move(opened.raw), std::move(opened.splits.front()));
}

Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs,
                     std::int64_t repetitions) {
  LANISTA_ASSIGN(Opened opened, open_split(config, folder, fs, repetitions));
  if (config.folds)
    return Dataset::make_folded(std::move(opened.raw), opened.splits, config.normalize, config.targets,
                                config.class_weights);
  return Dataset::make(std::move(opened.raw), std::move(opened.splits.front()), config.normalize, config.targets,
                       config.class_weights);
}

}  // namespace lanista::data
