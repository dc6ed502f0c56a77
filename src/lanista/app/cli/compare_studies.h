#pragma once

#include <string>
#include <vector>

#include "lanista/app/report/compare.h"

namespace lanista::cli {

/// Options of `compare`.
struct CompareRequest {
  std::vector<std::string> folders;  ///< Folders of two or more studies.
  std::string page;                  ///< File for the HTML page; empty: none.
  bool json = false;                 ///< True: print JSON instead of tables.
};

/// Prints the comparison of the studies, and writes the page. Returns the exit code.
int compare_studies(const CompareRequest& request);

/// Returns the comparison as tables of plain text: results by the first three metrics, best values of the first metric
/// at equal effort, and settings that differ. Notes follow. Long settings are cut.
std::string comparison_text(const report::StudyComparison& comparison);

}  // namespace lanista::cli
