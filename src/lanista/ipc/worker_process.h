#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::engine {

/// A worker that was started as a child process of the engine.
struct LaunchedWorker {
  pid_t process = 0;                    ///< process id of the child
  std::optional<Channel> channel = {};  ///< channel over its standard streams; none: it connects to the socket
};

/// Starts a worker process, which connects to the Unix socket at path `socket` unless LaunchedWorker::channel is set.
/// The process is a child and ends when its parent ends. It does not receive the signals by which a terminal or a batch
/// system asks the engine to pause. Errors: kResourceExhausted if the system can start no process.
using LaunchWorker = std::function<Result<LaunchedWorker>(const std::string& socket)>;

/// Returns a function that starts the running program as `PROGRAM worker --socket PATH`. The output of the worker goes
/// to stderr. The thread that calls the function must live as long as the workers. It is safe while other threads run.
LaunchWorker launch_this_program();

/// Returns a function that starts another program (ssh, srun), found as a shell finds it. That program passes its
/// standard streams to `lanista worker --stdio` on some machine. Its errors go to stderr. It receives SIGTERM when the
/// engine ends.
LaunchWorker launch_command(std::vector<std::string> arguments);

/// Returns a function that forks and calls `body` in the child, for tests and benchmarks. The child exits with 0, or
/// with 1 after an exception. Precondition: the process has one thread.
LaunchWorker launch_function(std::function<void(const std::string& socket)> body);

/// How a process ended.
struct ProcessEnd {
  int signal = 0;        ///< number of the signal that ended it; 0: none
  int code = 0;          ///< exit code, if no signal ended it
  bool is_known = true;  ///< false: the system reports no status
  /// True if the process itself failed: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, or any exit without
  /// a signal, also with code 0. False for a kill from outside or an unknown end.
  bool is_own_fault() const;
  /// The end of a worker on another machine, derived from this end of its launcher. By convention an exit code from 129
  /// to 159 is 128 plus the signal that ended the worker. Otherwise the result equals this end.
  ProcessEnd as_launcher_exit() const;
  std::string text() const;  ///< words for messages, such as "was killed by signal 9 (Killed)"
};

/// Child processes that are expected to end. collect() waits for those that have ended, so that none stays a zombie.
class Reaper {
 public:
  Reaper() = default;
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();  ///< kills the remaining processes and waits for each, at most 5 s

  /// Adds a child process, by process id.
  void add(pid_t process) { waiting_processes_.push_back(process); }
  /// Waits for the processes that have ended and removes them from the list. Does not block.
  void collect();

 private:
  std::vector<pid_t> waiting_processes_;
};

/// Waits up to `seconds` for a child and returns how it ended; no value if it still runs. If the system has no status
/// for it, `is_known` is false. Do not call it again after a value.
std::optional<ProcessEnd> wait_for_exit(pid_t process, double seconds);

/// The identity of this build: version and hash of the running program's file, which is read at the first call. The
/// engine refuses workers of another build. Thread-safe; the reference lives as long as the program.
const std::string& build_fingerprint();

}  // namespace lanista::engine
