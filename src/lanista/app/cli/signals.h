#pragma once

#include <atomic>

namespace lanista::cli {

/// While it lives, SIGINT, SIGTERM and SIGUSR1 ask for a clean pause: `requested()` turns from 0 to the exit code to
/// end with (130 or 75). A second SIGINT ends the process at once with 130, a second SIGTERM with 75; the study stays
/// resumable. SIGHUP is survived, SIGPIPE ignored.
class PauseSignals {
 public:
  PauseSignals();
  ~PauseSignals();
  PauseSignals(const PauseSignals&) = delete;
  PauseSignals& operator=(const PauseSignals&) = delete;
  const std::atomic<int>& requested() const;
};

}  // namespace lanista::cli
