#include "campaign/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace lanista::campaign {
namespace {

constexpr int kCannotStart = 126;                        // exit code, as that of a shell
constexpr std::array kDocumented{0, 1, 2, 3, 75, 130};   // exit codes of lanista
constexpr std::size_t kMaxText = std::size_t{64} << 20;  // bytes of captured output

[[noreturn]] void exit_with_message(const char* what) {
  std::fprintf(stderr, "cannot start: %s: %s\n", what, std::strerror(errno));
  ::_exit(kCannotStart);
}

// Prepares the child between fork and exec, and starts the program.
[[noreturn]] void exec_child(const ProcessOptions& start, int output, int errors) {
  const int none = ::open("/dev/null", O_RDONLY);
  if (::dup2(none, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(errors, 2) < 0) exit_with_message("streams");
  ::close(none);
  if (!start.output.empty()) {
    const int other = ::open(start.output.c_str(), O_WRONLY);
    if (other < 0 || ::dup2(other, 1) < 0) exit_with_message(start.output.c_str());
    ::close(other);
  }
  if (!start.folder.empty() && ::chdir(start.folder.c_str()) != 0) exit_with_message(start.folder.c_str());
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // Limits follow after the change of user, because they count for the new user and the calls above need descriptors.
  if (start.user) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(*start.user) != 0 || ::setuid(*start.user) != 0)
      exit_with_message("user");
  }
  std::vector<char*> arguments;
  for (const auto& argument : start.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  for (const int stream : start.closed) ::close(stream);
  for (const auto& [what, most] : start.limits) {
    const rlimit limit{most, most};
    ::setrlimit(static_cast<__rlimit_resource>(what), &limit);
  }
  ::execv(arguments.front(), arguments.data());
  exit_with_message(arguments.front());
}

void read_into(int fd, std::string& text) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return;
    if (text.size() < kMaxText) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void sleep_for(double seconds) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  ::nanosleep(&time, nullptr);
}

ChildProcess::ChildProcess(const ProcessOptions& start) : limit_(start.seconds), began_(now()) {
  std::array<int, 2> output{}, errors{};
  if (::pipe2(output.data(), O_CLOEXEC) != 0 || ::pipe2(errors.data(), O_CLOEXEC) != 0) std::abort();
  process_ = ::fork();
  if (process_ < 0) std::abort();
  if (process_ == 0) exec_child(start, output[1], errors[1]);
  ::close(output[1]);
  ::close(errors[1]);
  output_ = output[0];
  errors_ = errors[0];
  for (const int fd : {output_, errors_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (!is_ended_) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(output_);
  ::close(errors_);
}

void ChildProcess::drain() {
  read_into(output_, output_text_);
  read_into(errors_, error_text_);
}

bool ChildProcess::send(int signal) { return !is_ended_ && ::kill(process_, signal) == 0; }

bool ChildProcess::ends_within(double seconds) {
  const double until = now() + seconds;
  double pause = 0.0003;
  while (!is_ended_) {
    drain();
    if (::waitpid(process_, &status_, WNOHANG) == process_) {
      is_ended_ = true;
      end_seconds_ = now();
      break;
    }
    const double left = until - now();
    if (left <= 0) return false;
    sleep_for(std::min(left, pause));
    pause = std::min(pause * 1.3, 0.01);
  }
  drain();
  return true;
}

ProcessResult ChildProcess::wait() {
  const bool is_timed_out = !ends_within(limit_);
  if (is_timed_out) {
    ::kill(process_, SIGKILL);
    ends_within(60);
  }
  ProcessResult ended{
      .is_timed_out = is_timed_out, .seconds = end_seconds_ - began_, .output = output_text_, .errors = error_text_};
  if (WIFSIGNALED(status_)) ended.signal = WTERMSIG(status_);
  if (WIFEXITED(status_)) ended.code = WEXITSTATUS(status_);
  return ended;
}

ProcessResult run(const ProcessOptions& start) { return ChildProcess(start).wait(); }

std::string find_misbehaviour(const ProcessResult& ended, const std::vector<int>& sent) {
  if (ended.is_timed_out) return "hangs";
  if (ended.signal != 0) {
    if (std::ranges::find(sent, ended.signal) != sent.end()) return "";
    return std::string("ended by ") + ::sigabbrev_np(ended.signal);
  }
  if (std::ranges::find(kDocumented, ended.code) == kDocumented.end()) return "exit " + std::to_string(ended.code);
  for (const char* words : {"internal error", "check failed", "terminate called"}) {
    if (ended.errors.find(words) != std::string::npos) return "an internal error";
  }
  const bool paused = ended.code == 75 || ended.code == 130;
  if (ended.code != 0 && !paused && ended.errors.empty()) return "an error without a word";
  return "";
}

}  // namespace lanista::campaign
