#pragma once

#include <string>

namespace lanista::cli {

struct DataCheckRequest {
  std::string source;
  bool json = false;
};
struct DataRowsRequest {
  std::string source;
  std::string part = "test";  ///< train | validation | test | all
};
struct DataExportRequest {
  std::string source;
  std::string part = "all";
  std::string csv, npy, idx, folder;  ///< a file, and folders; empty: not wanted
};

// Each prints on stdout and gives the exit code.
int list_data(bool json);
int check_data(const DataCheckRequest& request);
int list_rows(const DataRowsRequest& request);
int export_data(const DataExportRequest& request);

}  // namespace lanista::cli
