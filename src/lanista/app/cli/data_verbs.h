#pragma once

#include <string>

namespace lanista::cli {

/// Options of `data check`.
struct DataCheckRequest {
  std::string source;  ///< Data source, as "kind:path?option=value".
  bool json = false;   ///< True: print one JSON object.
};
/// Options of `data rows`.
struct DataRowsRequest {
  std::string source;         ///< Data source, as "kind:path?option=value".
  std::string part = "test";  ///< train | validation | test | all
};
/// Options of `data export`.
struct DataExportRequest {
  std::string source;        ///< Data source, as "kind:path?option=value".
  std::string part = "all";  ///< train | validation | test | all
  std::string csv;           ///< CSV file; empty: not written.
  std::string npy;           ///< Folder for x.npy and y.npy; empty: not written.
  std::string idx;           ///< Folder for files in MNIST's format; empty: not written.
  std::string folder;        ///< Folder for PNG images; empty: not written.
};

/// Prints the built-in data sets and the kinds of data sources, as JSON if `json`. Returns the exit code.
int list_data(bool json);
/// Prints the content and the warnings of a data set. Returns the exit code.
int check_data(const DataCheckRequest& request);
/// Prints the numbers of the rows in a part of the default split, or of all rows, one a line. The first row is 0. An
/// unknown name of a part counts as all. Returns the exit code.
int list_rows(const DataRowsRequest& request);
/// Writes the rows of a part, not normalised, in each format that has a path. With no path it prints an error. Returns
/// the exit code.
int export_data(const DataExportRequest& request);

}  // namespace lanista::cli
