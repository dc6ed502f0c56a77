#include "lanista/io/data/raw_input.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lanista/io/data/readers.h"

namespace lanista::data {
namespace {

const SourceKind* find_kind(const std::string& name) {
  const auto it = std::ranges::find(source_kinds(), name, &SourceKind::name);
  return it == source_kinds().end() ? nullptr : &*it;
}

/// The format that the name of a file shows; empty if it shows none.
std::string kind_by_name(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEndings = {{{"csv", "csv"},
                                                                                      {"tsv", "csv"},
                                                                                      {"npy", "npy"},
                                                                                      {"npz", "npz"},
                                                                                      {"png", "folder"},
                                                                                      {"jpg", "folder"},
                                                                                      {"jpeg", "folder"}}};
  const std::string ending = extension_of(path);
  for (const auto& [expected_spec, kind] : kEndings) {
    if (ending == expected_spec) return std::string(kind);
  }
  return {};
}

Result<std::string> kind_of_file(const std::string& dataset_kind, const std::string& path, FileSystem& fs) {
  const bool files = dataset_kind != "builtin" && dataset_kind != "synthetic";
  if (files && is_folder(fs, path)) return dataset_kind;
  // A text file may have any name.
  if (const std::string kind = kind_by_name(path); !kind.empty() && dataset_kind != "tokens") return kind;
  if (files) return dataset_kind;
  return Error{Code::kInvalidArgument,
               "the name does not show the format; known are .csv, .tsv, .npy, .npz, or kind:FILE", path};
}

/// The path as a source, with the options of training on how files are read.
Result<Source> source_of(const DataSpec& spec, const std::string& path, FileSystem& fs) {
  const auto dataset_kind = parse_source(spec.source);
  const std::string own_kind = dataset_kind ? dataset_kind->kind : "builtin";
  Source source{.text = path, .kind = {}, .argument = path, .options = {}};
  if (find_kind(path.substr(0, path.find(':'))) != nullptr && path.find(':') != std::string::npos) {
    LANISTA_ASSIGN(source, parse_source(path));
  } else {
    LANISTA_ASSIGN(source.kind, kind_of_file(own_kind, path, fs));
  }
  const SourceKind* kind = find_kind(source.kind);
  if (kind == nullptr || source.kind != own_kind) return source;
  for (const SourceKind::Option& option : kind->options) {
    const auto value = dataset_kind->value(option.name);
    if (option.applies_to_new_files && value) source.options.emplace(option.name, *value);
  }
  return source;
}

/// Checks that rows of one kind may replace those of the data set.
Result<void> check_kind(const DataSpec& spec, const Source& source) {
  if (!spec.schema.is_null() && source.kind != "csv") {
    return source.error("the data set \"" + spec.name + "\" is a table; new rows come as csv");
  }
  const auto dataset_kind = parse_source(spec.source);
  const bool pixels =
      dataset_kind && (dataset_kind->kind == "folder" || dataset_kind->kind == "idx" || dataset_kind->kind == "cifar");
  if (source.kind == "folder" && !pixels) {
    return source.error("the numbers of \"" + spec.source + "\" need not be pixels from 0 to 255; give npy or csv");
  }
  return {};
}

}  // namespace

Result<RawData> read_raw(const DataSpec& spec, const std::string& path, FileSystem& fs) {
  ReadRequest request{.source = {}, .folder = "", .fs = &fs, .expected_spec = &spec, .rules = spec.rules};
  LANISTA_ASSIGN(request.source, source_of(spec, path, fs));
  LANISTA_ASSIGN(const SourceKind* kind, source_kind_of(request.source));
  LANISTA_TRY(check_kind(spec, request.source));
  LANISTA_ASSIGN(LoadedRows found, kind->read(request));
  RawData& raw = found.raw;
  const bool other_target = spec.classes > 0 ? !raw.targets.empty() : !raw.labels.empty();
  if (raw.spec.features != spec.features || other_target) {
    return request.source.error("its samples " + raw.spec.features.text() +
                                (other_target ? ", with another kind of target," : "") + " do not fit \"" + spec.name +
                                "\"; its samples are " + spec.features.text());
  }
  const auto labels = static_cast<std::size_t>(raw.rows() * spec.labels_per_sample());
  if (!raw.labels.empty() && raw.labels.size() != labels) {
    return request.source.error("its rows have one label each; \"" + spec.name + "\" has one at each of " +
                                std::to_string(spec.positions) +
                                " positions: give tokens:FILE, or rows without labels");
  }
  raw.spec = spec;
  if (auto checked = check_numbers(raw); !checked) return with_file(checked.error(), request.source.argument);
  for (const std::size_t row : found.rows_without_target) {
    const auto outputs = static_cast<std::size_t>(spec.target_size);
    if (!raw.labels.empty()) raw.labels[row] = kNoLabel;
    if (!raw.targets.empty()) {
      std::fill_n(raw.targets.begin() + static_cast<std::ptrdiff_t>(row * outputs), outputs, kNoTarget);
    }
  }
  spec.stored_normalization().apply(raw.features, spec.features.elements_per_sample());
  return std::move(raw);
}

}  // namespace lanista::data
