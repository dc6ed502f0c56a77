#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Two processes that each train half of the models of a case (ModelTimeSlices).
///
/// They start once and wait for requests. Each function returns the error of a process, or kInternal if one has ended.
/// One thread at a time.
class ProcessPair {
 public:
  /// Forks both processes. This process must have no second thread at that time. Errors: kIo.
  static Result<ProcessPair> start();
  ProcessPair(ProcessPair&&) noexcept = default;
  ProcessPair& operator=(ProcessPair&&) = delete;
  ~ProcessPair();  ///< Ends both processes and waits for them.

  /// Makes models [0, models) of a case in place of the earlier ones. `models` is at least two.
  Result<void> load(const std::string& case_name, std::int64_t models);
  /// Runs `steps` steps of each model and returns the losses, [step, model].
  Result<std::vector<double>> losses(int steps);
  /// The time slices a second of both processes, which run at the same time for `seconds` seconds.
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
