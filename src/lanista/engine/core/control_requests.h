#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"

namespace lanista::engine {

/// What somebody asked of a running study by putting a file into `control/`: `pause`, `stop`, `stop-trial-<n>`.
struct ControlRequest {
  enum class Kind { kPause, kStop, kStopTrial };
  Kind kind = Kind::kPause;
  std::optional<TrialId> trial;
  std::string file;  ///< its name in the folder
};

/// Requests that lie there, in order of their names; files of other names are left alone. Nothing is removed: the
/// request must be in the log first.
Result<std::vector<ControlRequest>> pending_control_requests(FileSystem& fs, const std::string& study_folder);
Result<void> remove_control_request(FileSystem& fs, const std::string& study_folder, const ControlRequest& request);

}  // namespace lanista::engine
