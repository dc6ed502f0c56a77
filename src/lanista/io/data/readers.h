#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/io/data/files.h"
#include "lanista/io/data/raw_data.h"
#include "lanista/io/data/source.h"
#include "lanista/io/data/table.h"

namespace lanista::data {

/// What a reader is asked for.
struct ReadRequest {
  Source source;
  std::string folder;  ///< relative paths are relative to it
  FileSystem* fs = nullptr;
  /// Null: everything is found in the files. Else the rows are to become samples of that data set: shape, classes and
  /// columns are given, labels and targets need not be there, and one sample needs no dimension for rows.
  const DataSpec* expected_spec = nullptr;

  std::string path(const std::string& name) const { return resolve_path(name, folder); }
};

/// What a reader found, before the split.
struct LoadedRows {
  /// Of the specification: name, features, classes, target_size, labels, licence. No features where `columns` is.
  RawData raw;
  /// A table whose columns are fitted to the training rows.
  struct Columns {
    Table table;
    TableRoles roles;
  };
  std::optional<Columns> columns;
  std::vector<std::int64_t> test;    ///< the rows of the test part, if the source has an official one
  bool is_sequential = false;             ///< parts are blocks of consecutive rows, because neighbours share content
  std::vector<std::int64_t> groups;  ///< a number a row: rows of one group stay together; or empty
  std::vector<double> times;         ///< one a row: parts follow each other in time; or empty
  std::vector<std::size_t> rows_without_target;   ///< of new rows, those without a target among others that have one
};

/// One kind of source: what `open` and read_raw choose from, what the catalogue lists. Errors of `read` are those of
/// `open`; `where` is the file.
struct SourceKind {
  enum class PathCount { kNone, kOne, kSeveral };  ///< several: with commas between them
  struct Option {
    std::string name, values, help;  ///< "header", "auto|yes|no", "whether the first line names the columns"
    bool applies_to_new_files = false;            ///< says how a file is read: what held for training holds for new files
    PathCount paths = PathCount::kNone;      ///< that the value names
  };
  std::string name;      ///< "csv"
  std::string notation;  ///< "csv:FILE"
  std::string help;      ///< one line
  std::vector<Option> options;
  PathCount paths = PathCount::kNone;  ///< that the argument names
  Result<LoadedRows> (*read)(const ReadRequest& request);
};
const std::vector<SourceKind>& source_kinds();

/// The kind of a source. Errors: kInvalidArgument (unknown, with the nearest name; an option that it does not have).
Result<const SourceKind*> source_kind_of(const Source& source);

Result<LoadedRows> read_builtin(const ReadRequest& request);
Result<LoadedRows> read_synthetic(const ReadRequest& request);
Result<LoadedRows> read_csv(const ReadRequest& request);
Result<LoadedRows> read_npy(const ReadRequest& request);
Result<LoadedRows> read_npz(const ReadRequest& request);
Result<LoadedRows> read_idx(const ReadRequest& request);
Result<LoadedRows> read_cifar(const ReadRequest& request);
Result<LoadedRows> read_images(const ReadRequest& request);
Result<LoadedRows> read_tokens(const ReadRequest& request);

}  // namespace lanista::data
