#include "lanista/engine/remote/worker_loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "lanista/ipc/host.h"
#include "lanista/engine/remote/messages.h"
#include "lanista/ipc/worker_process.h"
#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/ipc/worker_socket.h"

namespace lanista::engine {
namespace {

constexpr double kToAnswer = 60;                            ///< seconds for the engine's welcome
constexpr double kLeasesOfPatience = 30;                    ///< with a silent engine
constexpr double kToTell = 5;                               ///< seconds for the last words
constexpr int kLongestWait = 8;                             ///< milliseconds between looks for reports
constexpr std::size_t kMostUnsent = std::size_t{64} << 20;  ///< bytes that wait for the engine to read them
constexpr std::size_t kLongestReason = 16384;               ///< bytes of a failure's reason

/// A channel for several threads.
class Line {
 public:
  explicit Line(Channel channel) : channel_(std::move(channel)), socket_(channel_.socket()) {}

  void send(WireKind kind, std::string_view text) {
    const std::lock_guard lock(mutex_);
    number_and_send(kind, text);
  }
  /// Bytes that were sent and that the engine has not read.
  std::size_t unsent() {
    const std::lock_guard lock(mutex_);
    return channel_.to_write();
  }
  /// What is there.
  std::optional<Message> receive() {
    const std::lock_guard lock(mutex_);
    return channel_.receive(0);
  }
  /// Until something may be heard; others may send meanwhile.
  void wait(int milliseconds) const {
    pollfd poll{socket_, POLLIN, 0};
    ::poll(&poll, 1, milliseconds);
  }
  void last_words(WireKind kind, const Error& error) {
    const std::lock_guard lock(mutex_);
    number_and_send(kind, encode(error));
    channel_.flush(kToTell);
  }
  bool closed() {
    const std::lock_guard lock(mutex_);
    return channel_.closed();
  }

 private:
  void number_and_send(WireKind kind, std::string_view text) {
    channel_.send(static_cast<std::uint16_t>(kind), with_token(++sent_, text));
  }

  std::mutex mutex_;
  Channel channel_;
  std::uint64_t sent_ = 0;  // messages
  const int socket_;
};

/// Says from a thread of its own that this process lives, whatever the others are busy with.
class Heart {
 public:
  Heart(Line& line, double lease_seconds)
      : thread_([&line, period = std::chrono::duration<double>(std::min(lease_seconds / 4, 1.0))](
                    const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any woken;
          std::unique_lock lock(mutex);
          while (!stop.stop_requested()) {
            line.send(WireKind::kBeat, "");
            woken.wait_for(lock, stop, period, [] { return false; });
          }
        }) {}

 private:
  std::jthread thread_;
};

/// What is said to the engine, in the words of messages.h, and back.
class Obeying {
 public:
  Obeying(Line& line, Executor& executor, double patience) : line_(line), executor_(executor), patience_(patience) {}

  Result<void> run() {
    heard_ = std::chrono::steady_clock::now();
    int wait = 0;  // milliseconds; who has just said something will say more
    while (true) {
      bool busy = false;
      while (const auto message = line_.receive()) {
        heard_ = std::chrono::steady_clock::now();
        if (static_cast<WireKind>(message->kind) == WireKind::kBeat) continue;
        busy = true;
        LANISTA_TRY(obey(*message));
      }
      if (line_.closed()) return {};
      // Reports wait in the executor while the engine does not read.
      while (line_.unsent() < kMostUnsent) {
        const auto report = executor_.next(0);
        if (!report) break;
        busy = true;
        if (!tell(*report)) return {};
      }
      const std::chrono::duration<double> silence = std::chrono::steady_clock::now() - heard_;
      if (silence.count() > patience_) return {};
      wait = busy ? 0 : std::min(2 * wait + 1, kLongestWait);
      line_.wait(wait);
    }
  }

 private:
  Result<void> obey(const Message& message) {
    switch (static_cast<WireKind>(message.kind)) {
      case WireKind::kStart:
        return start(message.text);
      case WireKind::kCommand: {
        LANISTA_ASSIGN(const Order order, decode_order(message.text));
        const auto* command = std::get_if<Command>(&order);
        if (command == nullptr) return Error{Code::kDataLoss, "a job where a command was due", ""};
        executor_.command(*command);
        return {};
      }
      case WireKind::kQuestion:
        return answer(message.text);
      default:
        return Error{Code::kDataLoss, "a message of the unknown kind " + std::to_string(message.kind), ""};
    }
  }

  Result<void> start(const std::string& text) {
    LANISTA_ASSIGN(const Tokened said, split_token(text));
    LANISTA_ASSIGN(const Order order, decode_order(said.text));
    const auto* job = std::get_if<Job>(&order);
    if (job == nullptr) return Error{Code::kDataLoss, "a command where a job was due", ""};
    const auto started = executor_.start(*job);
    tokens_[job->trial] = said.token;
    if (!started) line_.send(WireKind::kRefused, with_token(said.token, refusal(job->trial, started.error())));
    return {};
  }

  static std::string refusal(TrialId trial, const Error& error) {
    return encode(std::vector<TrialId>{trial}) + "\n" + encode(error);
  }

  Result<void> answer(const std::string& text) {
    LANISTA_ASSIGN(const Question asked, decode_question(text));
    const auto metrics = executor_.measure(asked.members, asked.part);
    line_.send(metrics ? WireKind::kAnswer : WireKind::kNoAnswer,
               metrics ? encode_metrics(*metrics) : encode(metrics.error()));
    return {};
  }

  /// False: the executor is broken, and so is this process.
  bool tell(const Report& report) {
    if (const auto* broken = std::get_if<BrokenReport>(&report)) {
      line_.last_words(WireKind::kBroken, broken->error);
      return false;
    }
    if (const auto* failure = std::get_if<FailureReport>(&report); failure && failure->reason.size() > kLongestReason) {
      return tell(FailureReport{failure->trial, failure->epoch, failure->reason.substr(0, kLongestReason)});
    }
    const auto trial = trial_of(report);
    const auto token = trial ? tokens_.find(*trial) : tokens_.end();
    line_.send(WireKind::kReport, with_token(token == tokens_.end() ? 0 : token->second, encode(report)));
    return true;
  }

  Line& line_;
  Executor& executor_;
  const double patience_;  // seconds
  std::map<TrialId, std::uint64_t> tokens_;
  std::chrono::steady_clock::time_point heard_;
};

Result<Welcome> knock(Channel& channel) {
  channel.send(static_cast<std::uint16_t>(WireKind::kHello),
               encode(Hello{kWorkerProtocol, build_fingerprint(), ::getpid(), own_host()}));
  while (const auto message = channel.receive(kToAnswer)) {
    const auto kind = static_cast<WireKind>(message->kind);
    if (kind == WireKind::kWelcome) return decode_welcome(message->text);
    if (kind == WireKind::kUnwelcome) return decode_error(message->text);
    if (kind != WireKind::kBeat) return Error{Code::kDataLoss, "the engine's first word is no welcome", ""};
  }
  return Error{Code::kUnavailable, "the engine does not answer", ""};
}

}  // namespace

Result<void> work_for_engine(const std::string& socket, const MakeWorker& make) {
  LANISTA_ASSIGN(Channel channel, connect_to_engine(socket));
  return work_for_engine(std::move(channel), make);
}

Result<void> work_for_engine(Channel channel, const MakeWorker& make) {
  channel.set_limit(most_bytes_of);
  LANISTA_ASSIGN(const Welcome welcome, knock(channel));
  Line line(std::move(channel));
  const Heart heart(line, welcome.lease_seconds);  // data may take long to read
  auto executor = make(welcome.brief, [&line](std::span<const TrialId> trials) {
    line.send(WireKind::kInHand, encode(std::vector<TrialId>(trials.begin(), trials.end())));
  });
  if (!executor) {
    line.last_words(WireKind::kBroken, executor.error());
    return std::move(executor).error();
  }
  line.send(WireKind::kReady, "");
  auto done = Obeying(line, **executor, kLeasesOfPatience * welcome.lease_seconds).run();
  if (!done) line.last_words(WireKind::kBroken, done.error());
  return done;
}

}  // namespace lanista::engine
