#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// What somebody who resumes a study says that it is.
struct ExpectedStudy {
  std::string file;  ///< a study file; empty: what the study was begun with
  std::vector<studyfile::Override> overrides;
};

/// A study goes on as it was begun: what was measured is true of that study alone. Errors: kInvalidArgument (the claim,
/// or an edited DIR/config.resolved.yaml, says something else: every key with what was and what is, and the way out),
/// those of reading a study file.
Result<void> check_unchanged(const std::string& folder, const study::StudyConfig& stored, const data::Dataset& data,
                             const ExpectedStudy& expected_study);

}  // namespace lanista::cli
