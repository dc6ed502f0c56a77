#pragma once

#include <string>

namespace lanista::cli {

/// Options of `data check`.
struct DataCheckRequest {
  std::string source;  ///< kind:path?option=value
  bool json = false;
};
/// Options of `data rows`.
struct DataRowsRequest {
  std::string source;         ///< kind:path?option=value
  std::string part = "test";  ///< train | validation | test | all
};
/// Options of `data export`.
struct DataExportRequest {
  std::string source;        ///< kind:path?option=value
  std::string part = "all";  ///< train | validation | test | all
  std::string csv;           ///< file; empty: not written, as for the others
  std::string npy;           ///< folder for x.npy and y.npy
  std::string idx;           ///< folder for files in MNIST's format
  std::string folder;        ///< folder for PNG images
};

/// Prints the built-in data and the kinds of sources. Returns the exit code.
int list_data(bool json);
/// Prints the content and the warnings of a data set. Returns the exit code.
int check_data(const DataCheckRequest& request);
/// Prints the row numbers of a part of the default split, from 0, one a line. Returns the exit code.
int list_rows(const DataRowsRequest& request);
/// Writes a data set in other formats. Returns the exit code.
int export_data(const DataExportRequest& request);

}  // namespace lanista::cli
