#pragma once

#include <sys/types.h>

#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "lanista/ipc/worker_process.h"

namespace lanista::testing {

/// Returns a launcher that starts this program with the argument `stage`.
///
/// Its standard input and output are one end of a TCP connection over the loopback device.
engine::LaunchWorker launch_by_tcp();

/// Kills launched processes at random moments. It must outlive the launchers that it watches.
class Killer {
 public:
  /// Starts a thread that kills `kills` processes.
  explicit Killer(int kills);

  /// Returns a launcher that calls `launch` and adds each started process to those that may be killed.
  engine::LaunchWorker watched(engine::LaunchWorker launch);

  /// Stops the thread, and returns the number of kills.
  int end();

 private:
  void kill_some(const std::stop_token& stop);

  const int kills_;  ///< wanted number of kills
  int killed_ = 0;
  std::mutex mutex_;          ///< guards alive_
  std::vector<pid_t> alive_;  ///< processes that may be killed
  std::jthread thread_;
};

}  // namespace lanista::testing
