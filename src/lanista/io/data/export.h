#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"

namespace lanista::data {

/// A form that other tools read.
enum class ExportFormat {
  kCsv,     ///< one table data.csv: f0, f1, …, target
  kNpy,     ///< x.npy, y.npy
  kIdx,     ///< train-images-idx3-ubyte, train-labels-idx1-ubyte: whole numbers 0..255 alone
  kFolder,  ///< <class>/<row>.png; the largest number of all becomes white
};

/// Rows of a data set as files, by path. Features are the data set's own: open it with normalize "none" for raw ones.
/// Targets are raw. Errors: kInvalidArgument (data that the form cannot hold: which, and why).
Result<std::map<std::string, std::string>> export_rows(const Dataset& data, const std::vector<std::int64_t>& rows,
                                                       ExportFormat form);

}  // namespace lanista::data
