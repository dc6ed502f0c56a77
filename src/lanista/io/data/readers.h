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
struct Request {
  Source source;
  std::string folder;  ///< relative paths are relative to it
  FileSystem* fs = nullptr;
  /// Null: everything is found in the files. Else the rows are to become samples of that data set: shape, classes and
  /// columns are given, labels and targets need not be there, and one sample needs no dimension for rows.
  const DataSpec* known = nullptr;

  std::string path(const std::string& name) const { return resolve_path(name, folder); }
};

/// What a reader found, before the split.
struct Found {
  /// Of the specification: name, features, classes, target_size, labels, licence. No features where `columns` is.
  RawData raw;
  /// A table whose columns are fitted to the training rows.
  struct Columns {
    Table table;
    TableRoles roles;
  };
  std::optional<Columns> columns;
  std::vector<std::int64_t> test;    ///< the rows of the test part, if the source has an official one
  bool in_order = false;             ///< parts are blocks of consecutive rows, because neighbours share content
  std::vector<std::int64_t> groups;  ///< a number a row: rows of one group stay together; or empty
  std::vector<double> times;         ///< one a row: parts follow each other in time; or empty
  std::vector<std::size_t> untold;   ///< of new rows, those without a target among others that have one
};

/// One kind of source: what `open` and read_raw choose from, what the catalogue lists. Errors of `read` are those of
/// `open`; `where` is the file.
struct Kind {
  enum class Paths { kNone, kOne, kSeveral };  ///< several: with commas between them
  struct Option {
    std::string name, values, help;  ///< "header", "auto|yes|no", "whether the first line names the columns"
    bool lasting = false;            ///< says how a file is read: what held for training holds for new files
    Paths paths = Paths::kNone;      ///< that the value names
  };
  std::string name;      ///< "csv"
  std::string notation;  ///< "csv:FILE"
  std::string help;      ///< one line
  std::vector<Option> options;
  Paths paths = Paths::kNone;  ///< that the argument names
  Result<Found> (*read)(const Request& request);
};
const std::vector<Kind>& kinds();

/// The kind of a source. Errors: kInvalidArgument (unknown, with the nearest name; an option that it does not have).
Result<const Kind*> kind_of(const Source& source);

Result<Found> read_builtin(const Request& request);
Result<Found> read_synthetic(const Request& request);
Result<Found> read_csv(const Request& request);
Result<Found> read_npy(const Request& request);
Result<Found> read_npz(const Request& request);
Result<Found> read_idx(const Request& request);
Result<Found> read_cifar(const Request& request);
Result<Found> read_images(const Request& request);
Result<Found> read_tokens(const Request& request);

}  // namespace lanista::data
