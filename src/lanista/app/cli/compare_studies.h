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

/// Prints the comparison of the studies. Returns the exit code.
int compare_studies(const CompareRequest& request);

/// Returns the comparison as tables of plain text: results, best values at equal effort, and settings that differ.
std::string comparison_text(const report::StudyComparison& comparison);

}  // namespace lanista::cli
