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
  /// What is requested: pause the study, stop the study, or stop one trial.
  enum class Kind { kPause, kStop, kStopTrial };
  Kind kind = Kind::kPause;      ///< What is requested.
  std::optional<TrialId> trial;  ///< The trial to stop; absent for the other kinds.
  std::string file;              ///< Name of the file in `control/`.
};

/// The requests in the folder `control/` of a study, sorted by file name; empty if there is no such folder. Other files
/// are ignored. No file is removed, because the request must be logged first. Errors: those of the file system.
Result<std::vector<ControlRequest>> pending_control_requests(FileSystem& fs, const std::string& study_folder);
/// Removes the file of a request, so that even a power loss cannot repeat it. Errors: those of the file system.
Result<void> remove_control_request(FileSystem& fs, const std::string& study_folder, const ControlRequest& request);

}  // namespace lanista::engine
