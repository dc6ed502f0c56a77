#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"

namespace lanista::data {

/// A file format for exported rows of a data set. Only kNpy holds data with a label at every position.
enum class ExportFormat {
  /// One table data.csv: features, then class names or numeric targets. Columns have the names of a table's features
  /// (feature_names()) and targets, else f0, f1, … and target, target1, … Numbers are the shortest texts that read back
  /// as they are stored.
  kCsv,
  /// x.npy with features (float32), y.npy with class numbers (int32) or targets (float32). Numbers with an origin are
  /// float64.
  kNpy,
  /// train-images-idx3-ubyte, train-labels-idx1-ubyte. Only for classes, and features that are whole numbers 0..255.
  kIdx,
  /// <class>/<index>.png with the index in `rows`, in six digits. The largest feature of all rows becomes white. Only
  /// for classes, and samples [1, H, W] or [3, H, W] without negative features.
  kFolder,
};

/// Converts `rows` of `data` to files and returns their bytes by relative path; nothing is written to disk. Features
/// are those of `data`: open it with normalize "none" for raw ones. Targets are as read, not normalised. Errors:
/// kInvalidArgument (data that the format cannot hold, with the reason).
Result<std::map<std::string, std::string>> export_rows(const Dataset& data, const std::vector<std::int64_t>& rows,
                                                       ExportFormat form);

}  // namespace lanista::data
