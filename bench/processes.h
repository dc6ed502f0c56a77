#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Two processes that train half of a case's models each, as ModelTimeSlices; they start once and wait for orders.
class ProcessPair {
 public:
  /// Forks, so it must come before this process has a second thread. Errors: kIo.
  static Result<ProcessPair> start();
  ProcessPair(ProcessPair&&) noexcept = default;
  ProcessPair& operator=(ProcessPair&&) = delete;
  ~ProcessPair();  ///< ends them

  // Errors of all: what went wrong in a process; kInternal if one has ended.

  /// Makes models [0, models) of a case, at least two; those before are forgotten.
  Result<void> load(const std::string& case_name, std::int64_t models);
  /// The losses of so many steps, [step, model].
  Result<std::vector<double>> losses(int steps);
  /// Bursts a second of both, side by side for that long.
  Result<double> rate(double seconds);

 private:
  struct Process {
    pid_t id = 0;
    int socket = -1;
    std::int64_t models = 0;
  };

  ProcessPair() = default;
  Result<std::vector<std::vector<double>>> receive_answers();

  std::vector<Process> processes_;
};

}  // namespace lanista::bench
