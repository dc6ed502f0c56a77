#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"

namespace lanista::data {

/// A file format for exported rows of a data set.
enum class ExportFormat {
  kCsv,     ///< one table data.csv: f0, f1, …, target
  kNpy,     ///< x.npy, y.npy
  kIdx,     ///< train-images-idx3-ubyte, train-labels-idx1-ubyte; only for whole numbers 0..255
  kFolder,  ///< <class>/<row>.png; the largest feature of the rows becomes white
};

/// Converts `rows` of `data` to files and returns their bytes by relative path; nothing is written to disk. Features
/// are those of `data`: open it with normalize "none" for raw ones. Targets are as read, not normalised. Errors:
/// kInvalidArgument (data that the format cannot hold, with the reason).
Result<std::map<std::string, std::string>> export_rows(const Dataset& data, const std::vector<std::int64_t>& rows,
                                                       ExportFormat form);

}  // namespace lanista::data
