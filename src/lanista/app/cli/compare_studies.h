#pragma once

#include <string>
#include <vector>

#include "lanista/app/report/compare.h"

namespace lanista::cli {

struct CompareRequest {
  std::vector<std::string> folders;
  std::string page;  ///< empty: none
  bool json = false;
};

/// Studies side by side; gives the exit code.
int compare_studies(const CompareRequest& request);

/// The comparison as tables of plain text: results, the best so far at equal effort, what the study files say
/// differently.
std::string comparison_text(const report::StudyComparison& comparison);

}  // namespace lanista::cli
