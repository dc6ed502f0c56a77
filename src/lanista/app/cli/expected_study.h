#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// The settings that a resumed study must have, from the command line of `resume`.
struct ExpectedStudy {
  std::string file;  ///< Study file; empty: the settings of the study.
  /// Values of --set, which replace keys of the file; without data.source (engine::move_study_data).
  std::vector<studyfile::Override> overrides;
};

/// Checks that the expected settings, and an edited DIR/config.resolved.yaml, agree with the stored settings of a
/// study. A study continues with its first settings, because its measurements hold for them alone. Settings that change
/// no result may differ, such as the name and the workers. If `expected_study` is empty, or an edited file cannot be
/// read, nothing is compared with it. Errors: kInvalidArgument (the keys that differ, both values, and an alternative),
/// those of reading a study file.
Result<void> check_unchanged(const std::string& folder, const study::StudyConfig& stored, const data::Dataset& data,
                             const ExpectedStudy& expected_study);

}  // namespace lanista::cli
