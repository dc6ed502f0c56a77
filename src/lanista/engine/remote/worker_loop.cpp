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

#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/ipc/host_name.h"
#include "lanista/ipc/worker_process.h"
#include "lanista/ipc/worker_socket.h"

namespace lanista::engine {
namespace {

constexpr double kWelcomeTimeoutSeconds = 60;                   ///< Seconds for the engine's welcome.
constexpr double kMaxSilentLeases = 30;                         ///< Leases with a silent engine.
constexpr double kFlushTimeoutSeconds = 5;                      ///< Seconds for the last messages.
constexpr int kMaxWaitMilliseconds = 8;                         ///< Milliseconds between polls for reports.
constexpr std::size_t kMaxUnsentBytes = std::size_t{64} << 20;  ///< Bytes that wait for the engine to read them.
constexpr std::size_t kMaxFailureReasonBytes = 16384;           ///< Bytes of a failure's reason.

/// A channel for several threads.
class WorkerLink {
 public:
  explicit WorkerLink(Channel channel) : channel_(std::move(channel)), socket_(channel_.socket()) {}

  void send(WireKind kind, std::string_view text) {
    const std::lock_guard lock(mutex_);
    send_numbered(kind, text);
  }
  /// Bytes that were sent and that the engine has not read.
  std::size_t unsent_bytes() {
    const std::lock_guard lock(mutex_);
    return channel_.unsent_bytes();
  }
  /// The next message, if one has arrived.
  std::optional<Message> receive() {
    const std::lock_guard lock(mutex_);
    return channel_.receive(0);
  }
  /// Waits for a message; other threads may send in the meantime.
  void wait(int milliseconds) const {
    pollfd poll{socket_, POLLIN, 0};
    ::poll(&poll, 1, milliseconds);
  }
  void send_last_error(WireKind kind, const Error& error) {
    const std::lock_guard lock(mutex_);
    send_numbered(kind, encode(error));
    channel_.flush(kFlushTimeoutSeconds);
  }
  bool closed() {
    const std::lock_guard lock(mutex_);
    return channel_.closed();
  }

 private:
  void send_numbered(WireKind kind, std::string_view text) {
    channel_.send(static_cast<std::uint16_t>(kind), with_token(++sent_, text));
  }

  std::mutex mutex_;
  Channel channel_;
  std::uint64_t sent_ = 0;  // messages
  const int socket_;
};

/// Sends heartbeats from its own thread, while other threads compute.
class HeartbeatThread {
 public:
  HeartbeatThread(WorkerLink& link, double lease_seconds)
      : thread_([&link, period = std::chrono::duration<double>(std::min(lease_seconds / 4, 1.0))](
                    const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any woken;
          std::unique_lock lock(mutex);
          while (!stop.stop_requested()) {
            link.send(WireKind::kHeartbeat, "");
            woken.wait_for(lock, stop, period, [] { return false; });
          }
        }) {}

 private:
  std::jthread thread_;
};

/// Executes the engine's requests and sends the reports back.
class CommandLoop {
 public:
  CommandLoop(WorkerLink& link, Executor& executor, double max_silent_seconds)
      : link_(link), executor_(executor), max_silent_seconds_(max_silent_seconds) {}

  Result<void> run() {
    last_receive_time_ = std::chrono::steady_clock::now();
    int wait = 0;  // milliseconds; short after a message, because more may follow
    while (true) {
      bool busy = false;
      while (const auto message = link_.receive()) {
        last_receive_time_ = std::chrono::steady_clock::now();
        if (static_cast<WireKind>(message->kind) == WireKind::kHeartbeat) continue;
        busy = true;
        LANISTA_TRY(execute(*message));
      }
      if (link_.closed()) return {};
      // While the engine does not read, reports wait in the executor.
      while (link_.unsent_bytes() < kMaxUnsentBytes) {
        const auto report = executor_.next(0);
        if (!report) break;
        busy = true;
        if (!send_report(*report)) return {};
      }
      const std::chrono::duration<double> silence = std::chrono::steady_clock::now() - last_receive_time_;
      if (silence.count() > max_silent_seconds_) return {};
      wait = busy ? 0 : std::min(2 * wait + 1, kMaxWaitMilliseconds);
      link_.wait(wait);
    }
  }

 private:
  Result<void> execute(const Message& message) {
    switch (static_cast<WireKind>(message.kind)) {
      case WireKind::kStart:
        return start(message.text);
      case WireKind::kCommand: {
        LANISTA_ASSIGN(const ExecutorRequest order, decode_executor_request(message.text));
        const auto* command = std::get_if<Command>(&order);
        if (command == nullptr) return Error{Code::kDataLoss, "a job where a command was due", ""};
        executor_.command(*command);
        return {};
      }
      case WireKind::kQuestion:
        return handle_measure_request(message.text);
      default:
        return Error{Code::kDataLoss, "a message of the unknown kind " + std::to_string(message.kind), ""};
    }
  }

  Result<void> start(const std::string& text) {
    LANISTA_ASSIGN(const TokenMessage token_message, split_token(text));
    LANISTA_ASSIGN(const ExecutorRequest order, decode_executor_request(token_message.text));
    const auto* job = std::get_if<Job>(&order);
    if (job == nullptr) return Error{Code::kDataLoss, "a command where a job was due", ""};
    const auto started = executor_.start(*job);
    tokens_[job->trial] = token_message.token;
    if (!started) link_.send(WireKind::kRefused, with_token(token_message.token, refusal(job->trial, started.error())));
    return {};
  }

  static std::string refusal(TrialId trial, const Error& error) {
    return encode(std::vector<TrialId>{trial}) + "\n" + encode(error);
  }

  Result<void> handle_measure_request(const std::string& text) {
    LANISTA_ASSIGN(const MeasureRequest request, decode_measure_request(text));
    const auto metrics = executor_.measure(request.members, request.part);
    link_.send(metrics ? WireKind::kAnswer : WireKind::kNoAnswer,
               metrics ? encode_measured_metrics(*metrics) : encode(metrics.error()));
    return {};
  }

  /// Sends a report. Returns false if the executor, and so this process, is broken.
  bool send_report(const Report& report) {
    if (const auto* broken = std::get_if<ExecutorErrorReport>(&report)) {
      link_.send_last_error(WireKind::kBroken, broken->error);
      return false;
    }
    if (const auto* failure = std::get_if<FailureReport>(&report);
        failure && failure->reason.size() > kMaxFailureReasonBytes) {
      return send_report(
          FailureReport{failure->trial, failure->epoch, failure->reason.substr(0, kMaxFailureReasonBytes)});
    }
    const auto trial = trial_of(report);
    const auto token = trial ? tokens_.find(*trial) : tokens_.end();
    link_.send(WireKind::kReport, with_token(token == tokens_.end() ? 0 : token->second, encode(report)));
    return true;
  }

  WorkerLink& link_;
  Executor& executor_;
  const double max_silent_seconds_;  // seconds
  std::map<TrialId, std::uint64_t> tokens_;
  std::chrono::steady_clock::time_point last_receive_time_;
};

Result<Welcome> exchange_hello(Channel& channel) {
  channel.send(static_cast<std::uint16_t>(WireKind::kHello),
               encode(Hello{kWorkerProtocol, build_fingerprint(), ::getpid(), local_host_name()}));
  while (const auto message = channel.receive(kWelcomeTimeoutSeconds)) {
    const auto kind = static_cast<WireKind>(message->kind);
    if (kind == WireKind::kWelcome) return decode_welcome(message->text);
    if (kind == WireKind::kRejected) return decode_error(message->text);
    if (kind != WireKind::kHeartbeat) return Error{Code::kDataLoss, "the engine's first message is not a welcome", ""};
  }
  return Error{Code::kUnavailable, "the engine does not answer", ""};
}

}  // namespace

Result<void> run_worker(const std::string& socket, const MakeWorkerExecutor& make_executor) {
  LANISTA_ASSIGN(Channel channel, connect_to_engine(socket));
  return run_worker(std::move(channel), make_executor);
}

Result<void> run_worker(Channel channel, const MakeWorkerExecutor& make_executor) {
  channel.set_limit(max_message_bytes);
  LANISTA_ASSIGN(const Welcome welcome, exchange_hello(channel));
  WorkerLink link(std::move(channel));
  const HeartbeatThread heartbeats(link, welcome.lease_seconds);  // reading data may need long
  auto executor = make_executor(welcome.worker_config, [&link](std::span<const TrialId> trials) {
    link.send(WireKind::kActiveTrials, encode(std::vector<TrialId>(trials.begin(), trials.end())));
  });
  if (!executor) {
    link.send_last_error(WireKind::kBroken, executor.error());
    return std::move(executor).error();
  }
  link.send(WireKind::kReady, "");
  auto done = CommandLoop(link, **executor, kMaxSilentLeases * welcome.lease_seconds).run();
  if (!done) link.send_last_error(WireKind::kBroken, done.error());
  return done;
}

}  // namespace lanista::engine
