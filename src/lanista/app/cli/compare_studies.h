#pragma once

#include <string>
#include <vector>

#include "lanista/app/report/compare.h"

namespace lanista::cli {

/// Options of `compare`.
struct CompareRequest {
  std::vector<std::string> folders;  ///< of two or more studies
  std::string page;                  ///< file for the HTML page; empty: none
  bool json = false;                 ///< print JSON instead of tables
};

/// Prints the comparison of the studies. Returns the exit code.
int compare_studies(const CompareRequest& request);

/// The comparison as tables of plain text: results, best values at equal effort, and settings that differ.
std::string comparison_text(const report::StudyComparison& comparison);

}  // namespace lanista::cli
