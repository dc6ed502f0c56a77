#include "lanista/engine/remote/worker_fleet.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "lanista/base/real_json.h"
#include "lanista/engine/remote/report_check.h"
#include "lanista/ipc/host_name.h"

namespace lanista::engine {
namespace {

constexpr double kHelloTimeoutSeconds = 60;    ///< Seconds from a worker's start to its hello.
constexpr double kPeerTimeoutSeconds = 5;      ///< Seconds for an unverified peer's hello.
constexpr double kExitTimeoutSeconds = 0.5;    ///< Seconds from the end of a connection to that of its process.
constexpr double kShutdownTimeoutSeconds = 5;  ///< Seconds to end by itself.
constexpr double kMinDelaySeconds = 0.05, kMaxDelaySeconds = 5;  ///< Seconds before a process is started again.
constexpr double kMaxRemoteDelaySeconds = 30;  ///< Longest delay of a remote process while others work.

constexpr int kMaxRefusals = 2;                    ///< Consecutive refusals, if no other worker works.
constexpr std::size_t kMaxUnverifiedPeers = 64;    ///< Connections that no worker of the engine made.
constexpr std::size_t kMaxMessagesPerPoll = 1000;  ///< Messages of one worker.
constexpr std::size_t kMaxBytesPerPoll = std::size_t{16} << 20;
constexpr std::int64_t kMaxMessagesWithoutProgress = 100'000;    ///< Consecutive messages without progress.
constexpr double kHeartbeatBurst = 1000, kHeartbeatFactor = 20;  ///< Limits of heartbeats beyond those due.
constexpr std::size_t kMaxDropReasonBytes = 400;                 ///< Bytes of the text about a worker's fault.

std::string seconds_text(double seconds) { return real_json(seconds).dump() + " s"; }

double delay_after(int failures, double longest = kMaxDelaySeconds) {
  return failures < 2 ? 0 : std::min(kMinDelaySeconds * std::pow(2.0, failures - 2), longest);
}

}  // namespace

Result<std::unique_ptr<WorkerFleet>> WorkerFleet::begin(FleetOptions options, const Clock& clock) {
  LANISTA_ASSIGN(WorkerSocket socket, WorkerSocket::listen(options.socket));
  return std::unique_ptr<WorkerFleet>(new WorkerFleet(std::move(options), clock, std::move(socket)));
}

WorkerFleet::WorkerFleet(FleetOptions options, const Clock& clock, WorkerSocket socket)
    : options_(std::move(options)),
      clock_(&clock),
      socket_(std::move(socket)),
      build_(build_fingerprint()),
      workers_(options_.workers) {
  for (Worker& entry : workers_) entry.launch_at_seconds = clock_->now();
  launch_due(clock_->now());
}

WorkerFleet::~WorkerFleet() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].channel.reset();  // workers notice this, except in a queue
    if (workers_[i].process != 0 && is_remote(i) && !workers_[i].has_sent_hello) ::kill(workers_[i].process, SIGTERM);
  }
  const double until = clock_->now() + kShutdownTimeoutSeconds;
  for (Worker& entry : workers_) {
    if (entry.process == 0) continue;
    if (wait_for_exit(entry.process, std::clamp(until - clock_->now(), 0.0, kShutdownTimeoutSeconds))) continue;
    ::kill(entry.process, SIGKILL);
    reaper_.add(entry.process);
  }
}

const std::string& WorkerFleet::remote_name(std::size_t worker) const {
  static const std::string kLocal;
  return options_.remote_launchers.empty() ? kLocal
                                           : options_.remote_launchers[worker % options_.remote_launchers.size()].name;
}

bool WorkerFleet::reports_hosts() const {
  return std::ranges::any_of(options_.remote_launchers,
                             [](const Launcher& launcher) { return !launcher.name.empty(); });
}

bool WorkerFleet::have_all_failed(int tries) const {
  return std::ranges::none_of(workers_, [&](const Worker& entry) {
    return (entry.is_ready && entry.misbehaviours == 0) || entry.failures < tries;
  });
}

double WorkerFleet::heartbeat_seconds() const { return std::min(options_.lease_seconds / 4, 1.0); }

bool WorkerFleet::is_expected(std::size_t worker) const {
  const Worker& entry = workers_[worker];
  const double waited = entry.has_sent_hello ? entry.preparing_seconds : entry.silent_seconds;
  const bool is_late = entry.process != 0 && !entry.is_ready && waited > options_.lease_seconds;
  if (is_remote(worker)) return entry.has_sent_hello && !is_late;
  return may_launch_ && (entry.process != 0 ? entry.failures < 2 && !is_late : delay_after(entry.failures) == 0);
}

std::optional<WorkerFleet::FleetEvent> WorkerFleet::next(double seconds) {
  const double until = clock_->now() + seconds;
  for (bool looked = false;; looked = true) {
    if (events_.empty()) poll_workers();
    if (!events_.empty()) {
      FleetEvent event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    const double left = until - clock_->now();
    if (looked && left <= 0) return std::nullopt;
    wait(std::clamp(left, 0.0, heartbeat_seconds()));
  }
}

void WorkerFleet::send(std::size_t worker, WireKind kind, std::string_view text) {
  if (workers_[worker].is_ready) send_message(worker, kind, text);
}

void WorkerFleet::send_message(std::size_t worker, WireKind kind, std::string_view text) {
  Worker& entry = workers_[worker];
  entry.channel->send(static_cast<std::uint16_t>(kind), text);
  const std::size_t unread = entry.channel->unsent_bytes();
  if (unread > options_.max_unread_bytes) {
    end_misbehaving(worker, "does not read: " + std::to_string(unread) + " bytes wait for it; allowed: up to " +
                                std::to_string(options_.max_unread_bytes));
  }
}

// Polls everything once. Messages are read before silence is checked, because the engine itself may have been stopped.
void WorkerFleet::poll_workers() {
  const double now = clock_->now();
  reaper_.collect();
  accept_connections(now);
  for (std::size_t i = 0; i < workers_.size(); ++i) receive_from(i);
  check_heartbeats(now);
  launch_due(now);
  if (now < next_heartbeat_) return;
  next_heartbeat_ = now + heartbeat_seconds();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].channel && workers_[i].has_sent_hello) send_message(i, WireKind::kHeartbeat, "");
  }
}

void WorkerFleet::wait(double seconds) {
  std::vector<pollfd> all{{socket_.socket(), POLLIN, 0}};
  const auto add = [&](const Channel& channel) {
    const short wanted = channel.has_unsent() ? POLLIN | POLLOUT : POLLIN;
    all.push_back({channel.socket(), wanted, 0});
  };
  for (const Worker& entry : workers_) {
    if (entry.channel) add(*entry.channel);
    const bool comes = entry.process == 0 && may_launch_;
    if (comes) seconds = std::min(seconds, std::max(entry.launch_at_seconds - clock_->now(), 0.0));
  }
  for (const UnverifiedPeer& peer : unverified_peers_) add(peer.connection.channel);
  ::poll(all.data(), all.size(), static_cast<int>(std::ceil(seconds * 1e3)));
}

void WorkerFleet::launch_due(double now) {
  if (!may_launch_) return;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& entry = workers_[i];
    if (entry.process != 0 || now < entry.launch_at_seconds) continue;
    const LaunchWorker& launch =
        is_remote(i) ? options_.remote_launchers[i % options_.remote_launchers.size()].launch : options_.launch;
    auto launched_at_seconds = launch(socket_.path());
    if (!launched_at_seconds) {
      ++entry.failures;
      entry.launch_at_seconds = now + std::max(delay_after(entry.failures), kMinDelaySeconds);
      if (entry.failures < kMaxFailures) continue;
      may_launch_ = false;
      events_.push_back(Broken{launched_at_seconds.error()});
      return;
    }
    entry.process = launched_at_seconds->process;
    if (launched_at_seconds->channel) {
      entry.channel = std::move(launched_at_seconds->channel);
      entry.channel->set_limit(max_message_bytes_before_hello);
    }
    entry.launched_at_seconds = now;
    entry.silent_seconds = 0;
    if (reports_hosts())
      entry.host = sanitize_host_name(options_.remote_launchers[i % options_.remote_launchers.size()].host);
  }
}

void WorkerFleet::accept_connections(double now) {
  for (std::size_t accepted = 0; accepted < kMaxUnverifiedPeers; ++accepted) {
    auto connection = socket_.accept();
    if (!connection) break;
    connection->channel.set_limit(max_message_bytes_before_hello);
    const auto entry =
        std::ranges::find_if(workers_, [&](const Worker& s) { return s.process == connection->process && !s.channel; });
    if (entry != workers_.end() && connection->process != 0) {
      entry->channel.emplace(std::move(connection->channel));
    } else if (unverified_peers_.size() < kMaxUnverifiedPeers) {
      unverified_peers_.push_back({*std::move(connection), now});
    }
  }
  for (UnverifiedPeer& peer : unverified_peers_) reject_peer(peer);
  std::erase_if(unverified_peers_, [&](const UnverifiedPeer& peer) {
    return peer.connection.channel.closed() || now - peer.since > kPeerTimeoutSeconds;
  });
}

// A peer that this engine did not start receives the reason for its rejection.
void WorkerFleet::reject_peer(UnverifiedPeer& peer) {
  Channel& channel = peer.connection.channel;
  const auto message = channel.receive(0);
  if (!message || message->kind != static_cast<std::uint16_t>(WireKind::kHello)) return;
  auto hello = decode_hello(message->text);
  Result<void> fits = hello ? check_hello(*hello, build_) : Result<void>(hello.error());
  if (fits) {
    fits = Error{Code::kFailedPrecondition,
                 "this engine starts its worker processes itself (run.workers sets their number)",
                 "process " + std::to_string(peer.connection.process)};
  }
  channel.send(static_cast<std::uint16_t>(WireKind::kRejected), encode(fits.error()));
}

void WorkerFleet::receive_from(std::size_t worker) {
  Worker& entry = workers_[worker];
  if (entry.process == 0) return;
  if (!entry.channel) {
    if (const auto end = wait_for_exit(entry.process, 0)) drop(worker, true, end->is_own_fault(), end->text());
    return;
  }
  std::size_t bytes = 0;
  // A worker that sends without a break must not keep the engine from reading the others.
  for (std::size_t taken = 0; entry.channel && taken < kMaxMessagesPerPoll && bytes < kMaxBytesPerPoll; ++taken) {
    auto message = entry.channel->receive(0);
    if (!message) break;
    bytes += message->text.size();
    if (const auto handled = handle_message(worker, *std::move(message)); !handled)
      return end_misbehaving(worker, handled.error().message);
  }
  if (entry.channel && entry.channel->closed()) handle_disconnect(worker);
}

Result<void> WorkerFleet::handle_message(std::size_t worker, Message message) {
  Worker& entry = workers_[worker];
  if (entry.refusal) return {};  // it will end
  const auto kind = static_cast<WireKind>(message.kind);
  const auto not_now = [&](const char* when) {
    return Error{Code::kDataLoss, "sent a message of kind " + std::to_string(message.kind) + " " + when, ""};
  };
  entry.silent_seconds = 0;
  if (!entry.has_sent_hello)
    return kind == WireKind::kHello ? handle_hello(worker, message.text) : not_now("before its hello");
  auto numbered = split_token(message.text);
  if (!numbered) return unreadable_message(Error{Code::kDataLoss, "its number is missing", ""});
  if (numbered->token != entry.received + 1) {
    return Error{
        Code::kDataLoss,
        "sent message " + std::to_string(numbered->token) + "; due is message " + std::to_string(entry.received + 1),
        ""};
  }
  ++entry.received;
  ++(kind == WireKind::kHeartbeat ? entry.heartbeats : entry.messages_without_progress);
  LANISTA_TRY(check_message_counts(entry));
  message.text = std::move(numbered->text);
  const bool is_bare = kind == WireKind::kHeartbeat || kind == WireKind::kReady;
  if (is_bare && !message.text.empty()) return not_now("with a text");
  if (kind == WireKind::kHeartbeat) return {};
  if (entry.is_ready) {
    if (kind == WireKind::kHello || kind == WireKind::kReady) return not_now("twice");
    if (entry.misbehaviours == 0) entry.failures = 0;
    events_.push_back(WorkerMessage{worker, std::move(message)});
  } else if (kind == WireKind::kReady) {
    entry.is_ready = true;
    events_.push_back(Ready{worker, entry.process, entry.host});
  } else if (kind == WireKind::kBroken) {  // for example, it has other data
    auto broken = read_error(message.text);
    if (!broken) return unreadable_message(broken.error());
    entry.refusal = std::move(broken->error);
  } else {
    return not_now("before it was ready");
  }
  return {};
}

Result<void> WorkerFleet::check_message_counts(const Worker& entry) const {
  if (entry.messages_without_progress > kMaxMessagesWithoutProgress) {
    return Error{Code::kDataLoss,
                 "sent " + std::to_string(kMaxMessagesWithoutProgress) + " messages without any progress", ""};
  }
  const double due = (clock_->now() - entry.launched_at_seconds) / heartbeat_seconds();
  if (static_cast<double>(entry.heartbeats) <= kHeartbeatBurst + kHeartbeatFactor * due) return {};
  return Error{Code::kDataLoss,
               "sent " + std::to_string(entry.heartbeats) + " heartbeats when " + std::to_string(std::llround(due)) +
                   " were due",
               ""};
}

Result<void> WorkerFleet::handle_hello(std::size_t worker, const std::string& text) {
  Worker& entry = workers_[worker];
  const auto hello = decode_hello(text);
  if (!hello) return unreadable_message(hello.error());
  entry.has_sent_hello = true;
  if (const auto fits = check_hello(*hello, build_); !fits) {
    entry.channel->send(static_cast<std::uint16_t>(WireKind::kRejected), encode(fits.error()));
    entry.refusal = fits.error();
    return {};
  }
  entry.channel->set_limit(max_message_bytes);
  // The worker's own host name is more exact than the launcher's: Slurm may choose any node.
  const std::string host = reports_hosts() ? sanitize_host_name(hello->host) : std::string();
  if (!host.empty()) entry.host = host;
  send_message(worker, WireKind::kWelcome, encode(Welcome{options_.lease_seconds, options_.worker_config}));
  return {};
}

// The worker closed its connection.
void WorkerFleet::handle_disconnect(std::size_t worker) {
  Worker& entry = workers_[worker];
  const auto fault = entry.channel->fault();
  const auto end = fault ? std::nullopt : wait_for_exit(entry.process, kExitTimeoutSeconds);
  if (end && is_remote(worker)) {
    const ProcessEnd located_reason = end->as_launcher_exit();
    // A crashed program counts against its trials. A lost host or connection does not.
    return drop(worker, true, !entry.is_ready || (located_reason.signal != 0 && located_reason.is_own_fault()),
                located_reason.text());
  }
  if (end) return drop(worker, true, end->is_own_fault(), end->text());
  if (fault) return end_misbehaving(worker, unreadable_message(*fault).message);
  mark_lost(worker, true, "closed its connection");
}

void WorkerFleet::check_heartbeats(double now) {
  // A long time between two polls means that the engine itself was stopped, for example by a suspended machine.
  const double passed = std::min(now - last_poll_seconds_.value_or(now), 2 * heartbeat_seconds());
  last_poll_seconds_ = now;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& entry = workers_[i];
    if (entry.process == 0) continue;
    const bool is_sending = entry.channel && entry.channel->has_unread();
    if (is_remote(i) && !entry.has_sent_hello && !is_sending) continue;  // it may wait in a queue
    entry.silent_seconds += passed;
    if (entry.has_sent_hello && !entry.is_ready) entry.preparing_seconds += passed;
    const double to_be_ready = options_.ready_leases * options_.lease_seconds;
    if (entry.preparing_seconds > to_be_ready) {
      mark_lost(i, true, "was not ready to work within " + seconds_text(to_be_ready));
      continue;
    }
    // It sends heartbeats from the welcome on, which follows its hello.
    const double most =
        entry.has_sent_hello ? options_.lease_seconds : std::max(options_.lease_seconds, kHelloTimeoutSeconds);
    if (entry.silent_seconds <= most) continue;
    mark_lost(i, false,
              "was silent for " + seconds_text(most) + " (stopped, or the machine is too busy: run.lease_seconds)");
  }
}

void WorkerFleet::mark_lost(std::size_t worker, bool own_fault, const std::string& reason) {
  if (workers_[worker].process != 0) drop(worker, false, own_fault, reason);
}

void WorkerFleet::end_misbehaving(std::size_t worker, const std::string& what) {
  if (workers_[worker].process == 0) return;
  ++workers_[worker].misbehaviours;
  drop(worker, false, true, "was dropped: it " + visible_text(what, kMaxDropReasonBytes), true);
}

void WorkerFleet::note_progress(std::size_t worker) {
  Worker& entry = workers_[worker];
  entry.failures = entry.misbehaviours = 0;
  entry.messages_without_progress = 0;
}

void WorkerFleet::drop(std::size_t worker, bool has_ended, bool own_fault, const std::string& reason,
                       bool is_misbehaviour) {
  Worker& entry = workers_[worker];
  if (!has_ended) {  // a stopped process must continue before it can end
    ::kill(entry.process, SIGKILL);
    reaper_.add(entry.process);
  }
  const Worker before = std::exchange(entry, Worker{});
  entry.failures = before.failures + 1;
  entry.misbehaviours = before.misbehaviours;
  entry.launch_at_seconds =
      clock_->now() + delay_after(entry.failures, is_remote(worker) ? kMaxRemoteDelaySeconds : kMaxDelaySeconds);
  const std::string located_reason = is_remote(worker) ? "(" + remote_name(worker) + ") " + reason : reason;
  events_.push_back(
      Lost{worker, before.process, own_fault && !is_misbehaviour, located_reason, before.host, is_misbehaviour});
  check_any_usable(worker, before.is_ready, own_fault, before.refusal, located_reason);
}

void WorkerFleet::check_any_usable(std::size_t worker, bool was_ready, bool own_fault,
                                   const std::optional<Error>& refusal, const std::string& reason) {
  const bool is_misbehaving = workers_[worker].misbehaviours >= kMaxFailures;
  if (!may_launch_ || (was_ready && !is_misbehaving)) return;
  if (!have_all_failed(refusal ? kMaxRefusals : own_fault ? kMaxFailures : kMaxKilled)) return;
  may_launch_ = false;
  if (refusal) return events_.push_back(Broken{*refusal});
  const std::string what =
      is_misbehaving ? "worker processes send wrong messages" : "worker processes end before they are ready";
  const std::string help =
      is_remote(worker) ? "; with --ssh here a study continues on this host" : "; run.isolation: thread needs none";
  events_.push_back(Broken{Error{Code::kUnavailable, what + ": the last one " + reason + help, ""}});
}

}  // namespace lanista::engine
