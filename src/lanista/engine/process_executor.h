#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lanista/base/result.h"
#include "lanista/engine/executor.h"

// For tests: executors that hear of the engine by messages alone, in this process or in a child of it.
namespace lanista::engine::testing {

/// An executor to which every order, and from which every report, goes as text.
class WireExecutor final : public Executor {
 public:
  explicit WireExecutor(std::unique_ptr<Executor> inner) : inner_(std::move(inner)) {}
  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  Result<std::map<std::string, double>> measure(std::span<const Tested> members, data::Part part) override;

 private:
  std::unique_ptr<Executor> inner_;
};

/// One end of a socket over which texts go both ways, each with its kind and behind its length. Neither end waits for
/// the other to read, so that two who both write do not wait for ever. Move-only.
class Channel {
 public:
  struct Message {
    char kind = 0;
    std::string text;
  };

  explicit Channel(int socket) : socket_(socket) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();  ///< the other end sees it, even where a forked process has a copy of the socket

  void send(char kind, std::string_view text);
  /// The next message; none: nothing came within `seconds`, or the other end is gone.
  std::optional<Message> receive(double seconds);
  /// Waits until all is written that was sent, or the other end is gone.
  void flush();
  /// The other end is gone, and all that it said was heard.
  bool closed() const { return gone_ && in_.empty(); }

 private:
  void pump(int milliseconds);
  std::optional<Message> cut();

  int socket_;
  std::string in_, out_;
  bool gone_ = false;
};

/// An executor in a child process. Where the child dies, or what it says is no message, it is broken.
class ProcessExecutor final : public Executor {
 public:
  /// Forks; the child runs `work` on its end of the channel and then ends. No other thread may run here.
  explicit ProcessExecutor(const std::function<void(Channel&)>& work);
  ProcessExecutor(const ProcessExecutor&) = delete;
  ProcessExecutor& operator=(const ProcessExecutor&) = delete;
  ~ProcessExecutor() override;  ///< waits for the child

  Result<void> start(const Job& job) override;
  void command(const Command& command) override;
  std::optional<Report> next(double seconds) override;
  Result<std::map<std::string, double>> measure(std::span<const Tested> members, data::Part part) override;

  pid_t child() const { return child_; }
  void say(char kind, std::string_view text) { channel_->send(kind, text); }  ///< whatever it is

 private:
  void take(const Channel::Message& message);
  std::optional<Report> told();
  Result<std::optional<Report>> answer();

  pid_t child_ = 0;
  std::optional<Channel> channel_;
  std::deque<Report> reports_;
  std::optional<Error> broken_;
};

/// In the child: obeys what comes over the channel, and tells what there is to tell, until the other end is gone or the
/// executor is broken.
void serve(Channel& channel, Executor& executor);

}  // namespace lanista::engine::testing
