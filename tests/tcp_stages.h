#pragma once

#include <sys/types.h>

#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "lanista/ipc/worker_process.h"

namespace lanista::testing {

/// Begins `PROGRAM stage`, the program that runs now, whose standard streams are one end of a TCP connection over the
/// loopback device.
engine::LaunchWorker launch_by_tcp();

/// Kills processes that were begun at random moments, so many of them. Outlives who begins them.
class Killer {
 public:
  explicit Killer(int kills);

  engine::LaunchWorker watched(engine::LaunchWorker launch);
  /// None from here on. How many there were.
  int end();

 private:
  void kill_some(const std::stop_token& stop);

  const int kills_;
  int killed_ = 0;
  std::mutex mutex_;
  std::vector<pid_t> alive_;
  std::jthread thread_;
};

}  // namespace lanista::testing
