#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::engine {

/// A child, and what is said to it, if it does not knock at the socket.
struct LaunchedWorker {
  pid_t process = 0;
  std::optional<Channel> channel = {};
};

/// Begins a worker process that connects to this socket. The process is a child, ends when its parent does, and hears
/// nothing of the signals by which a terminal or a batch system asks the engine to pause. Errors: kResourceExhausted.
using LaunchWorker = std::function<Result<LaunchedWorker>(const std::string& socket)>;

/// Runs the program that runs now, as `PROGRAM worker --socket PATH`. Its output goes to stderr. The thread that calls
/// must live as long as the workers shall. Safe where other threads run.
LaunchWorker launch_this_program();

/// Runs another program, found as a shell would, that hands its standard streams on to `lanista worker --stdio`
/// wherever that may be (ssh, srun). Its errors go to stderr; it is told to end (SIGTERM) when the engine is gone.
LaunchWorker launch_command(std::vector<std::string> arguments);

/// Forks and calls `body`, for tests and benchmarks. No other thread may run here.
LaunchWorker launch_function(std::function<void(const std::string& socket)> body);

/// How a process ended.
struct ProcessEnd {
  int signal = 0;        ///< that killed it; 0: none
  int code = 0;          ///< its exit code, if none did
  bool is_known = true;  ///< false: the system does not say
  /// Of its own doing: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, or an exit that nobody asked for. A
  /// kill from outside is none.
  bool is_own_fault() const;
  /// Of a program that began the worker elsewhere: by convention 128 and more says by which signal that ended; else
  /// nothing is known of it, a connection may have been lost.
  ProcessEnd as_launcher_exit() const;
  std::string text() const;  ///< "was killed by signal 9 (Killed)", "ended with exit code 3"
};

/// Children that are to end. Their ends are collected whenever somebody asks, so that none stays a zombie.
class Reaper {
 public:
  Reaper() = default;
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();  ///< kills and collects whoever is left

  void add(pid_t process) { waiting_processes_.push_back(process); }
  /// Ends of those that have ended are forgotten.
  void collect();
  std::size_t num_waiting() const { return waiting_processes_.size(); }

 private:
  std::vector<pid_t> waiting_processes_;
};

/// How a child ended, waiting at most `seconds` for it; none: it lives. Nothing may ask twice.
std::optional<ProcessEnd> wait_for_exit(pid_t process, double seconds);

/// What a build is known by: workers of another one are refused. Version and hash of the running program's file, which
/// is read once.
const std::string& build_fingerprint();

}  // namespace lanista::engine
