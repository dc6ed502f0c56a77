#pragma once

#include <atomic>

namespace lanista::cli {

/// Handles signals as long as the object exists. SIGINT, SIGTERM and SIGUSR1 request a clean pause. A second SIGINT
/// ends the process at once with 130, a second SIGTERM with 75; the study can be resumed. SIGHUP and SIGPIPE are
/// ignored.
class PauseSignals {
 public:
  PauseSignals();
  ~PauseSignals();
  PauseSignals(const PauseSignals&) = delete;
  PauseSignals& operator=(const PauseSignals&) = delete;
  /// Returns the exit code of the requested pause, which a signal may change at any time: 130 after SIGINT, 75 after
  /// the others, 0 without a request.
  const std::atomic<int>& requested() const;
};

}  // namespace lanista::cli
