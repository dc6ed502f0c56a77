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

/// The input of a reader.
struct ReadRequest {
  Source source;             ///< what to read
  std::string folder;        ///< relative paths are relative to it
  FileSystem* fs = nullptr;  ///< for all files
  /// Null: the files define shape, classes and columns. Otherwise the rows become samples of that data set, which
  /// defines them. Labels and targets may be absent then, and a single sample needs no dimension for rows.
  const DataSpec* expected_spec = nullptr;

  /// The path of a file that the source names.
  std::string path(const std::string& name) const { return resolve_path(name, folder); }
};

/// The output of a reader, before the split.
struct LoadedRows {
  /// Fields of the specification: name, features, classes, target_size, labels, licence. No features if `columns`
  /// exists.
  RawData raw;
  /// A table with columns that are fitted to the training rows later.
  struct Columns {
    Table table;       ///< its cells
    TableRoles roles;  ///< the use of its columns
  };
  std::optional<Columns> columns;                ///< For tables.
  std::vector<std::int64_t> test;                ///< Rows of an official test part.
  bool is_sequential = false;                    ///< Parts are blocks of consecutive rows, since neighbours overlap.
  std::vector<std::int64_t> groups;              ///< Group of each row; a group is never in two parts; or empty.
  std::vector<double> times;                     ///< Time of each row; parts follow each other in time; or empty.
  std::vector<std::size_t> rows_without_target;  ///< Of new rows, where other rows have a target.
};

/// One kind of source. open() and read_raw() select one, and the catalogue lists them. Errors of `read` are those of
/// open(); `where` is the file.
struct SourceKind {
  /// How many paths a text names; several are separated by commas.
  enum class PathCount { kNone, kOne, kSeveral };
  /// An option of the source.
  struct Option {
    std::string name, values, help;      ///< "header", "auto|yes|no", "whether the first line names the columns"
    bool applies_to_new_files = false;   ///< defines how files are read, also new files after training
    PathCount paths = PathCount::kNone;  ///< paths in its value
  };
  std::string name;                                        ///< "csv"
  std::string notation;                                    ///< "csv:FILE"
  std::string help;                                        ///< one sentence for the user
  std::vector<Option> options;                             ///< its options
  PathCount paths = PathCount::kNone;                      ///< paths in the argument
  Result<LoadedRows> (*read)(const ReadRequest& request);  ///< reads the rows
};
/// All kinds of sources.
const std::vector<SourceKind>& source_kinds();

/// The kind of a source. Errors: kInvalidArgument (unknown, with the nearest name; an option that it does not have).
Result<const SourceKind*> source_kind_of(const Source& source);

// The readers, one for each kind. Errors: those of open().
Result<LoadedRows> read_builtin(const ReadRequest& request);    ///< built-in data
Result<LoadedRows> read_synthetic(const ReadRequest& request);  ///< generated data
Result<LoadedRows> read_csv(const ReadRequest& request);        ///< tables
Result<LoadedRows> read_npy(const ReadRequest& request);        ///< NumPy arrays
Result<LoadedRows> read_npz(const ReadRequest& request);        ///< NumPy archives
Result<LoadedRows> read_idx(const ReadRequest& request);        ///< IDX files
Result<LoadedRows> read_cifar(const ReadRequest& request);      ///< CIFAR batches
Result<LoadedRows> read_images(const ReadRequest& request);     ///< folders of images
Result<LoadedRows> read_tokens(const ReadRequest& request);     ///< texts

}  // namespace lanista::data
