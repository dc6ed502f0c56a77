#pragma once

#include <atomic>

namespace lanista::cli {

/// Handles signals as long as the object exists; at most one object may exist. SIGINT, SIGTERM and SIGUSR1 request a
/// clean pause. A SIGINT after any of them ends the process at once with 130, a second SIGTERM with 75; the study can
/// be resumed. SIGHUP and SIGPIPE are ignored. Afterwards SIGPIPE stays ignored; the others have their default.
class PauseSignals {
 public:
  PauseSignals();
  ~PauseSignals();
  PauseSignals(const PauseSignals&) = delete;
  PauseSignals& operator=(const PauseSignals&) = delete;
  /// Returns the exit code of the requested pause, which a signal may change at any time: 130 if the first signal was
  /// SIGINT, 75 after the others, 0 without a request.
  const std::atomic<int>& requested() const;
};

}  // namespace lanista::cli
