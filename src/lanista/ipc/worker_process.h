#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::engine {

/// A child process, and its channel if it does not connect to the socket.
struct LaunchedWorker {
  pid_t process = 0;                    ///< its process id
  std::optional<Channel> channel = {};  ///< over its standard streams; none: it connects to the socket
};

/// Starts a worker process that connects to this socket. It is a child and ends when its parent ends. It does not
/// receive the signals by which a terminal or a batch system asks the engine to pause. Errors: kResourceExhausted.
using LaunchWorker = std::function<Result<LaunchedWorker>(const std::string& socket)>;

/// Starts the running program as `PROGRAM worker --socket PATH`. The output of the worker goes to stderr. The calling
/// thread must live as long as the workers. Safe while other threads run.
LaunchWorker launch_this_program();

/// Starts another program, found as a shell finds it, which passes its standard streams to `lanista worker --stdio` on
/// some machine (ssh, srun). Its errors go to stderr. It receives SIGTERM when the engine ends.
LaunchWorker launch_command(std::vector<std::string> arguments);

/// Forks and calls `body` in the child, for tests and benchmarks. Precondition: the process has one thread.
LaunchWorker launch_function(std::function<void(const std::string& socket)> body);

/// How a process ended.
struct ProcessEnd {
  int signal = 0;        ///< the signal that ended it; 0: none
  int code = 0;          ///< its exit code, if no signal ended it
  bool is_known = true;  ///< false: the system reports no status
  /// Whether the process itself failed: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, or an exit without a
  /// request. A kill from outside does not count.
  bool is_own_fault() const;
  /// The end of the worker, derived from the end of its launcher. By convention an exit code from 128 gives the signal
  /// that ended the worker. Otherwise its end is unknown: a connection may have been lost.
  ProcessEnd as_launcher_exit() const;
  std::string text() const;  ///< words for messages: "was killed by signal 9 (Killed)", "ended with exit code 3"
};

/// Child processes that are expected to end. Each call of collect() waits for those that have ended, so that none stays
/// a zombie.
class Reaper {
 public:
  Reaper() = default;
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();  ///< kills the remaining processes and waits for them

  /// Adds a child process.
  void add(pid_t process) { waiting_processes_.push_back(process); }
  /// Waits for the processes that have ended and removes them. It does not block.
  void collect();
  std::size_t num_waiting() const { return waiting_processes_.size(); }

 private:
  std::vector<pid_t> waiting_processes_;
};

/// How a child ended, after at most `seconds`; none if it still runs. Call it no more after it returned an end.
std::optional<ProcessEnd> wait_for_exit(pid_t process, double seconds);

/// The identity of this build: version and hash of the running program's file, which is read once. The engine refuses
/// workers of another build.
const std::string& build_fingerprint();

}  // namespace lanista::engine
