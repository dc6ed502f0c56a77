#include "tcp_stages.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "lanista/base/rng.h"

namespace lanista::testing {
namespace {

struct Connection {
  int local_fd = -1, remote_fd = -1;
};

sockaddr* address(sockaddr_in& of) { return reinterpret_cast<sockaddr*>(&of); }

// Returns both ends of a new connection. The accepted peer must have the port of our own end, so no other process can
// connect.
Result<Connection> connection() {
  const Error failed{Code::kIo, "no TCP connection over the loopback device", ""};
  Connection out;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  out.remote_fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{}, remote{}, accepted{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  const bool is_connected = ::bind(listener, address(at), size) == 0 && ::listen(listener, 1) == 0 &&
                            ::getsockname(listener, address(at), &size) == 0 &&
                            ::connect(out.remote_fd, address(at), size) == 0 &&
                            ::getsockname(out.remote_fd, address(remote), &size) == 0;
  if (is_connected) out.local_fd = ::accept4(listener, address(accepted), &size, SOCK_CLOEXEC);
  ::close(listener);
  if (out.local_fd < 0 || accepted.sin_port != remote.sin_port) {
    for (const int end : {out.local_fd, out.remote_fd}) ::close(end);
    return failed;
  }
  const int at_once = 1;
  for (const int end : {out.local_fd, out.remote_fd})
    ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  return out;
}

}  // namespace

engine::LaunchWorker launch_by_tcp() {
  return [](const std::string&) -> Result<engine::LaunchedWorker> {
    LANISTA_ASSIGN(const Connection both, connection());
    engine::Channel channel(both.local_fd);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) {
      ::posix_spawn_file_actions_adddup2(&actions, both.remote_fd, stream);
    }
    std::string program = "/proc/self/exe", verb = "stage";
    const std::array<char*, 3> words{program.data(), verb.data(), nullptr};
    pid_t child = 0;
    const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(both.remote_fd);
    if (error != 0) return Error{Code::kResourceExhausted, "cannot start a process for a rank", ""};
    return engine::LaunchedWorker{child, std::move(channel)};
  };
}

Killer::Killer(int kills) : kills_(kills), thread_([this](const std::stop_token& stop) { kill_some(stop); }) {}

void Killer::kill_some(const std::stop_token& stop) {
  Rng rng(77);
  while (killed_ < kills_ && !stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::microseconds(rng.between(500, 60000)));
    const std::lock_guard lock(mutex_);
    if (alive_.empty()) continue;
    const auto at = alive_.begin() + static_cast<std::ptrdiff_t>(rng.below(alive_.size()));
    if (::kill(*at, SIGKILL) == 0) ++killed_;
    alive_.erase(at);
  }
}

engine::LaunchWorker Killer::watched(engine::LaunchWorker launch) {
  return [this, launch = std::move(launch)](const std::string& socket) {
    auto started = launch(socket);
    const std::lock_guard lock(mutex_);
    if (started) alive_.push_back(started->process);
    return started;
  };
}

int Killer::end() {
  thread_.request_stop();
  thread_.join();
  return killed_;
}

}  // namespace lanista::testing
