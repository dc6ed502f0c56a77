#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"

namespace lanista::engine {

/// A request to a running study: a file `pause`, `stop` or `stop-trial-<n>` in the folder `control/`.
struct ControlRequest {
  /// What is requested.
  enum class Kind { kPause, kStop, kStopTrial };
  Kind kind = Kind::kPause;      ///< What is requested.
  std::optional<TrialId> trial;  ///< Of kStopTrial.
  std::string file;              ///< File name in the folder.
};

/// The requests in the folder, in order of their names. Other files are ignored. No file is removed, because the
/// request must be logged first.
Result<std::vector<ControlRequest>> pending_control_requests(FileSystem& fs, const std::string& study_folder);
/// Removes the file of a request, durably.
Result<void> remove_control_request(FileSystem& fs, const std::string& study_folder, const ControlRequest& request);

}  // namespace lanista::engine
