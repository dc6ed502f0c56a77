#include "lanista/ipc/worker_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <span>
#include <thread>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/file_system.h"

namespace lanista::engine {
namespace {

constexpr std::array kOwnFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
// Signals by which a terminal, a batch system or a user asks the engine and its children to end.
constexpr std::array kOfTheEngine{SIGINT, SIGTERM, SIGUSR1, SIGHUP};

constexpr int kNoProgram = 127;
constexpr int kSignalled = 128, kSignals = 32;  // shells add 128 to a signal's number; there are 32 signals

/// Prepares a child between fork and its work, with async-signal-safe calls only. It restores the default actions of
/// these signals. The child receives `death` when its parent dies.
void begin_child(pid_t parent, int death) {
  ::prctl(PR_SET_PDEATHSIG, death);
  if (::getppid() != parent) ::_exit(kNoProgram);  // the parent died in the meantime
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (const int signal : kOwnFaults) ::sigaction(signal, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void settle_child(pid_t parent) {
  begin_child(parent, SIGKILL);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : kOfTheEngine) ::sigaction(signal, &ignore, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);  // sockets of other workers, and the lock of the log
}

/// Prepares a launcher that forwards messages over its standard streams. It gets a process group of its own, so that
/// signals for the engine do not reach it.
void settle_messenger(pid_t parent, int socket) {
  begin_child(parent, SIGTERM);
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (const int signal : kOfTheEngine) ::sigaction(signal, &plain, nullptr);
  ::sigaction(SIGPIPE, &plain, nullptr);
  ::setpgid(0, 0);
  ::dup2(socket, STDIN_FILENO);
  ::dup2(socket, STDOUT_FILENO);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
}

Error no_process() {
  return {Code::kResourceExhausted, std::string("the system gives no process for a worker: ") + std::strerror(errno),
          ""};
}

ProcessEnd end_of(int status) {
  return WIFSIGNALED(status) ? ProcessEnd{.signal = WTERMSIG(status)} : ProcessEnd{.code = WEXITSTATUS(status)};
}

}  // namespace

LaunchWorker launch_this_program() {
  return [](const std::string& socket) -> Result<LaunchedWorker> {
    std::string program = "/proc/self/exe", verb = "worker", option = "--socket", path = socket;
    const std::array<char*, 5> arguments{program.data(), verb.data(), option.data(), path.data(), nullptr};
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return no_process();
    if (child == 0) {
      settle_child(parent);
      ::execv(program.c_str(), arguments.data());
      ::_exit(kNoProgram);
    }
    return LaunchedWorker{child};
  };
}

LaunchWorker launch_command(std::vector<std::string> arguments) {
  return [arguments = std::move(arguments)](const std::string&) -> Result<LaunchedWorker> {
    std::vector<std::string> own = arguments;
    std::vector<char*> argv;
    for (std::string& word : own) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return no_process();
    Channel channel(ends[0]);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      settle_messenger(parent, ends[1]);
      ::execvp(argv[0], argv.data());
      ::_exit(kNoProgram);
    }
    ::close(ends[1]);
    if (child < 0) return no_process();
    return LaunchedWorker{child, std::move(channel)};
  };
}

LaunchWorker launch_function(std::function<void(const std::string& socket)> body) {
  return [body = std::move(body)](const std::string& socket) -> Result<LaunchedWorker> {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return no_process();
    if (child == 0) {
      settle_child(parent);
      int code = 0;
      try {
        body(socket);
      } catch (...) {
        code = 1;
      }
      ::_exit(code);  // the child must not destroy the parent's objects
    }
    return LaunchedWorker{child};
  };
}

bool ProcessEnd::is_own_fault() const {
  if (!is_known || signal == 0) return is_known;
  for (const int fault : kOwnFaults) {
    if (signal == fault) return true;
  }
  return false;
}

ProcessEnd ProcessEnd::as_launcher_exit() const {
  const bool is_signal = is_known && signal == 0 && code > kSignalled && code < kSignalled + kSignals;
  return is_signal ? ProcessEnd{.signal = code - kSignalled} : *this;
}

std::string ProcessEnd::text() const {
  if (!is_known) return "has ended; the system reports no status";
  if (signal == 0) return "ended with exit code " + std::to_string(code);
  return "was killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

Reaper::~Reaper() {
  for (const pid_t process : waiting_processes_) {
    ::kill(process, SIGKILL);
    static_cast<void>(wait_for_exit(process, 5));
  }
}

void Reaper::collect() {
  std::erase_if(waiting_processes_, [](pid_t process) { return wait_for_exit(process, 0).has_value(); });
}

std::optional<ProcessEnd> wait_for_exit(pid_t process, double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    int status = 0;
    const pid_t found = ::waitpid(process, &status, WNOHANG);
    if (found == process) return end_of(status);
    if (found < 0 && errno != EINTR) return ProcessEnd{.is_known = false};  // for example, SIGCHLD is ignored
    if (std::chrono::steady_clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

const std::string& build_fingerprint() {
  static const std::string kOfThisProgram = [] {
    const auto program = real_file_system().read("/proc/self/exe");
    return std::string(LANISTA_VERSION) + " build " +
           (program ? hash_bytes(std::as_bytes(std::span(*program))).hex().substr(0, 12) : "unknown");
  }();
  return kOfThisProgram;
}

}  // namespace lanista::engine
