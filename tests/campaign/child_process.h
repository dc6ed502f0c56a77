#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lanista::campaign {

/// How to start a process.
struct ProcessOptions {
  std::vector<std::string> command = {};  ///< path of the program, then its arguments
  std::string folder = {};                ///< current folder; empty: that of the caller
  std::vector<int> closed = {};           ///< closed standard streams
  std::string output = {};                ///< file for standard output; empty: it is captured
  std::map<int, rlim_t> limits = {};      ///< values for setrlimit
  std::optional<uid_t> user = {};         ///< none: that of the caller
  double seconds = 10;                    ///< timeout in seconds
};

/// How a process ended, and its output.
struct ProcessResult {
  int code = 0;                ///< exit code, if no signal ended it
  int signal = 0;              ///< signal that ended it; 0: none
  bool is_timed_out = false;   ///< true: it was killed at its timeout
  double seconds = 0;          ///< duration
  std::string output, errors;  ///< captured standard output and standard error, of at most 64 MiB each
};

/// A child process. Its standard output and error are captured; its standard input is empty. Not thread-safe.
class ChildProcess {
 public:
  /// Starts the process.
  explicit ChildProcess(const ProcessOptions& start);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills the process if it still runs.
  ~ChildProcess();

  /// Returns the process id.
  pid_t process() const { return process_; }
  /// Sends a signal. Returns true if it was sent, false if the process has ended.
  bool send(int signal);
  /// Waits for the end of the process. Kills it if it still runs ProcessOptions::seconds after this call.
  ProcessResult wait();
  /// Waits at most `seconds`, and captures output. Returns true if the process has ended.
  bool ends_within(double seconds);

 private:
  void drain();
  pid_t process_ = -1;
  int output_ = -1, errors_ = -1;
  double limit_, began_;  ///< timeout and start, in seconds
  bool is_ended_ = false;
  int status_ = 0;
  double end_seconds_ = 0;
  std::string output_text_, error_text_;
};

/// Starts a process and waits for its end.
ProcessResult run(const ProcessOptions& start);

/// Returns what is wrong with the end of a process; "" if nothing is.
///
/// Wrong are a signal that is not in `sent`, a timeout, an undocumented exit code, a failure without a message, and an
/// internal error.
std::string find_misbehaviour(const ProcessResult& ended, const std::vector<int>& sent = {});

/// Returns the time of the monotonic clock in seconds.
double now();

/// Sleeps for some seconds.
void sleep_for(double seconds);

}  // namespace lanista::campaign
