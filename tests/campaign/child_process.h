#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lanista::campaign {

/// How a process is to be started.
struct ProcessOptions {
  std::vector<std::string> command = {};  ///< the program's path and its arguments
  std::string folder = {};                ///< where it works; empty: where we do
  std::vector<int> closed = {};           ///< standard streams that it does not get
  std::string output = {};                ///< what is standard output, e.g. /dev/full; empty: caught
  std::map<int, rlim_t> limits = {};      ///< of setrlimit
  std::optional<uid_t> user = {};         ///< whose rights it has
  double seconds = 10;                    ///< after so long it hangs
};

/// How a process ended, and what it said.
struct ProcessResult {
  int code = 0;    ///< if no signal ended it
  int signal = 0;  ///< that ended it
  bool is_timed_out = false;
  double seconds = 0;
  std::string output, errors;
};

/// A process of ours. Its standard output and error are caught; its standard input is empty.
class ChildProcess {
 public:
  explicit ChildProcess(const ProcessOptions& start);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();  ///< kills it, if it has not been waited for

  pid_t process() const { return process_; }
  /// Sends a signal, unless it has ended. Whether it was sent.
  bool send(int signal);
  /// Waits for its end, at most the seconds of its start from now on; then it is killed and has hung.
  ProcessResult wait();
  /// Whether it ends within so many seconds. What it says is caught meanwhile.
  bool ends_within(double seconds);

 private:
  void drain();
  pid_t process_ = -1;
  int output_ = -1, errors_ = -1;
  double limit_, began_;
  bool is_ended_ = false;
  int status_ = 0;
  double end_seconds_ = 0;
  std::string output_text_, error_text_;
};

/// Starts it and waits.
ProcessResult run(const ProcessOptions& start);

/// What no answer may be, or nothing: a signal, a hang, an exit code that is not documented, an error without a word,
/// "internal". `sent` are signals that may have ended it.
std::string find_misbehaviour(const ProcessResult& ended, const std::vector<int>& sent = {});

/// Monotonic seconds.
double now();
void sleep_for(double seconds);

}  // namespace lanista::campaign
