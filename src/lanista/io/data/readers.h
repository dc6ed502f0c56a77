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

/// The input of a reader of sources.
struct ReadRequest {
  Source source;             ///< what to read
  std::string folder;        ///< relative paths are relative to it
  FileSystem* fs = nullptr;  ///< reads all files; not null
  /// Null: the files define shape, classes and columns. Otherwise this data set defines them, and the rows become new
  /// samples of it. Labels and targets may be absent then, and a single sample needs no dimension for rows.
  const DataSpec* expected_spec = nullptr;
  std::int64_t rules = study::kLatestRules;  ///< rules of reading; with `expected_spec` those of that data set

  /// The path of a file that the source calls `name`: `name` if absolute, else below `folder`. If nothing is there,
  /// that of unescaped(name).
  std::string path(const std::string& name) const {
    const std::string written = resolve_path(name, folder), plain = unescaped(name);
    return plain == name || fs->exists(written) ? written : resolve_path(plain, folder);
  }
};

/// The rows that a reader returns, before the split.
struct LoadedRows {
  /// The rows as numbers. The reader sets these fields of raw.spec: name, features, vocab, classes, positions,
  /// target_size, multilabel, labels, licence. With `columns` there are no features yet.
  RawData raw;
  /// A table of which the feature columns are fitted to the training rows and encoded later.
  struct Columns {
    Table table;       ///< cells of the file
    TableRoles roles;  ///< the use of its columns
  };
  std::optional<Columns> columns;  ///< Set for tables only.
  std::vector<std::int64_t> test;  ///< Row numbers of an official test part, ascending; or empty.
  /// Row numbers of an official validation part, ascending; or empty. Only for rows that are split at random.
  std::vector<std::int64_t> validation;
  bool is_sequential = false;        ///< True: parts are blocks of consecutive rows, since neighbours overlap.
  std::vector<std::int64_t> groups;  ///< Group number of each row, or empty; a group is never in two parts.
  std::vector<double> times;         ///< Time of each row, or empty; parts follow each other in time.
  std::vector<std::size_t> rows_without_target;  ///< New rows without a target, if others have one.
};

/// One kind of source: its notation and its reader. open() and read_raw() select one by name, and catalog() lists all.
struct SourceKind {
  /// How many paths an argument or a value contains; several are separated by commas.
  enum class PathCount { kNone, kOne, kSeveral };
  /// An option of the source.
  struct Option {
    std::string name, values, help;      ///< "header", "auto|yes|no", "whether the first line names the columns"
    bool applies_to_new_files = false;   ///< true: it also applies to files to predict, which read_raw() reads
    PathCount paths = PathCount::kNone;  ///< number of paths in its value, which are resolved like those of sources
  };
  std::string name;                                        ///< the part before the colon: "csv"
  std::string notation;                                    ///< how a user writes it: "csv:FILE"
  std::string help;                                        ///< one sentence for the user
  std::vector<Option> options;                             ///< its options
  PathCount paths = PathCount::kNone;                      ///< number of paths in the argument
  Result<LoadedRows> (*read)(const ReadRequest& request);  ///< reads the rows; errors: those of open()
};
/// All kinds of sources, built-in data sets first. The reference is to a constant.
const std::vector<SourceKind>& source_kinds();

/// The entry of source_kinds() for a source, never null. Errors: kInvalidArgument (an unknown kind, with the nearest
/// name; an option that the kind does not have).
Result<const SourceKind*> source_kind_of(const Source& source);

/// Reads the rows of data that are built into the program: 1797 images of digits. Errors: those of open().
Result<LoadedRows> read_builtin(const ReadRequest& request);
/// Reads the rows of generated data. Errors: those of open().
Result<LoadedRows> read_synthetic(const ReadRequest& request);
/// Reads the rows of tables as CSV files. Without expected_spec it sets `columns`, and features are encoded later; with
/// one it encodes them. Errors: those of open().
Result<LoadedRows> read_csv(const ReadRequest& request);
/// Reads the rows of NumPy arrays (.npy). Errors: those of open().
Result<LoadedRows> read_npy(const ReadRequest& request);
/// Reads the rows of NumPy archives (.npz). Errors: those of open().
Result<LoadedRows> read_npz(const ReadRequest& request);
/// Reads the rows of IDX files, as MNIST has. Errors: those of open().
Result<LoadedRows> read_idx(const ReadRequest& request);
/// Reads the rows of CIFAR batches, the fine classes of CIFAR-100. Errors: those of open().
Result<LoadedRows> read_cifar(const ReadRequest& request);
/// Reads the rows of images, one folder for each class (image_listing.h). With expected_spec also a single file, or
/// images without a known class. Images that cannot be read are left out with a warning, up to the share of option
/// unreadable=. Errors: those of open().
Result<LoadedRows> read_images(const ReadRequest& request);
/// Reads the rows of a text: windows of tokens, with the token after each window, or after each token, as label. With
/// expected_spec, a text of exactly one window is a row without labels. Errors: those of open().
Result<LoadedRows> read_tokens(const ReadRequest& request);

}  // namespace lanista::data
