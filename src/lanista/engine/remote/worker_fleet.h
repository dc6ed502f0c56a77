#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/result.h"
#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/ipc/worker_process.h"
#include "lanista/ipc/worker_socket.h"

namespace lanista::engine {

/// A way to start workers on one host.
struct Launcher {
  std::string name;       ///< Name for messages: "ssh node2"; empty: this host.
  LaunchWorker launch;    ///< Starts one worker process.
  std::string host = {};  ///< Host name; empty: unknown until the worker's hello.
};

/// Settings of a fleet of worker processes.
struct FleetOptions {
  /// Configuration that each worker receives; `workers` and `memory_bytes` are those of one process.
  WorkerConfig worker_config;
  std::size_t workers = 1;    ///< Number of worker processes.
  double lease_seconds = 10;  ///< Seconds without a message after which a worker is lost.
  std::string socket;         ///< Path of the socket to which workers connect.
  LaunchWorker launch;        ///< Starts a local worker.
  /// Worker i is started by entry i modulo their number; empty: by `launch`.
  std::vector<Launcher> remote_launchers = {};
  double ready_leases = 60;  ///< Longest time from hello to ready, in leases; the worker reads its data meanwhile.
  /// Most bytes that may wait for a worker to read them; with more it is ended.
  std::size_t max_unread_bytes = std::size_t{256} << 20;
};

/// A set of worker processes and the connections to them. Workers have indices from 0; they become ready, send messages
/// and are lost. One thread.
class Fleet {
 public:
  /// A worker has become ready: it can receive jobs.
  struct Ready {
    std::size_t worker = 0;  ///< Index of the worker.
    pid_t process = 0;       ///< Its process id.
    std::string host = {};   ///< Its host name, if some workers run on other hosts; else empty.
  };
  /// A ready worker has sent a message.
  struct WorkerMessage {
    std::size_t worker = 0;  ///< Index of the worker.
    Message message;         ///< The message.
  };
  /// A worker's process has ended or was ended.
  struct Lost {
    std::size_t worker = 0;   ///< Index of the worker.
    pid_t process = 0;        ///< Its process id.
    bool own_fault = false;   ///< True: it crashed by itself; false: it was killed, was silent or was dropped.
    std::string reason;       ///< Cause as text: "was killed by signal 9 (Killed)".
    std::string host = {};    ///< As in Ready; without a hello, the launcher's host.
    bool is_dropped = false;  ///< True: it was ended for an invalid message (end_misbehaving).
  };
  /// The fleet has given up and starts no more workers: none is usable, or one could not be launched kMaxFailures times
  /// in a row. In the second case others may still run.
  struct Broken {
    Error error;  ///< Cause.
  };
  /// One event of the fleet; next() returns it.
  using FleetEvent = std::variant<Ready, WorkerMessage, Lost, Broken>;

  virtual ~Fleet() = default;
  /// The next event in order of occurrence; waits at most `seconds`. nullopt: none occurred in time.
  virtual std::optional<FleetEvent> next(double seconds) = 0;
  /// Sends a message to a ready worker. If the worker is not ready, it has no effect.
  virtual void send(std::size_t worker, WireKind kind, std::string_view text) = 0;
  /// True if the worker can receive jobs.
  virtual bool is_ready(std::size_t worker) const = 0;
  /// True if the worker is ready or is likely to become ready soon: it has a process, or will have one at once. A
  /// remote worker counts from its hello on, because it may wait in a queue before. A worker that is not ready within a
  /// lease does not count.
  virtual bool is_expected(std::size_t worker) const = 0;
  /// Process id of a worker; 0: it has no process.
  virtual pid_t process(std::size_t worker) const = 0;
  /// Ends a worker's process as if it had died; a Lost event with these values follows. Without a process it has no
  /// effect.
  virtual void mark_lost(std::size_t worker, bool own_fault, const std::string& reason) = 0;
  /// Ends a worker that sent an invalid message. `what` continues the sentence "it ...". No trial is blamed. The worker
  /// is started again, with growing delays. After WorkerFleet::kMaxFailures such ends in a row without progress, and
  /// without another usable worker, the fleet is broken.
  virtual void end_misbehaving(std::size_t worker, const std::string& what) = 0;
  /// Notes that a worker has made progress with its trials. Its invalid messages, its failed starts and its messages
  /// without progress are then counted from 0. A fleet without such counters ignores it.
  virtual void note_progress(std::size_t) {}
  /// No process is started any more; running ones stay.
  virtual void stop_launching() = 0;
};
/// Starts a fleet; the clock outlives it. Errors: kIo (no socket).
using MakeFleet = std::function<Result<std::unique_ptr<Fleet>>(const FleetOptions&, const Clock&)>;

/// Starts worker processes, accepts their connections, ends silent ones and starts lost ones again. It has no knowledge
/// of trials. One thread.
class WorkerFleet final : public Fleet {
 public:
  /// After this many processes of each worker in a row that end by themselves before they are ready, the fleet is
  /// broken.
  static constexpr int kMaxFailures = 5;
  /// After this many processes of each worker in a row that others kill before they are ready, the fleet is broken.
  static constexpr int kMaxKilled = 50;

  /// Listens on the socket and starts the workers. `clock` outlives the fleet. Errors: kIo (no socket).
  static Result<std::unique_ptr<WorkerFleet>> begin(FleetOptions options, const Clock& clock);
  WorkerFleet(const WorkerFleet&) = delete;
  WorkerFleet& operator=(const WorkerFleet&) = delete;
  /// Ends all workers within 5 s; kills those that do not end by themselves.
  ~WorkerFleet() override;

  std::optional<FleetEvent> next(double seconds) override;
  void send(std::size_t worker, WireKind kind, std::string_view text) override;
  bool is_ready(std::size_t worker) const override { return workers_[worker].is_ready; }
  bool is_expected(std::size_t worker) const override;
  pid_t process(std::size_t worker) const override { return workers_[worker].process; }
  void mark_lost(std::size_t worker, bool own_fault, const std::string& reason) override;
  void end_misbehaving(std::size_t worker, const std::string& what) override;
  void note_progress(std::size_t worker) override;
  void stop_launching() override { may_launch_ = false; }

 private:
  struct Worker {
    pid_t process = 0;  ///< Process id; 0: none.
    std::optional<Channel> channel;
    bool is_ready = false;
    double launched_at_seconds = 0;
    double silent_seconds = 0;                   ///< Seconds without a message, while the engine read.
    double launch_at_seconds = 0;                ///< Clock seconds of the next launch, without a process.
    int failures = 0;                            ///< Consecutive ends before ready.
    int misbehaviours = 0;                       ///< Consecutive invalid messages without progress.
    bool has_sent_hello = false;                 ///< Its hello was received.
    double preparing_seconds = 0;                ///< Seconds from hello to ready.
    std::uint64_t received = 0;                  ///< Number of its last message.
    std::int64_t heartbeats = 0;                 ///< Heartbeats received.
    std::int64_t messages_without_progress = 0;  ///< Other messages since its last progress.
    std::optional<Error> refusal = {};           ///< Why it cannot work, found by either side.
    std::string host = {};                       ///< Its host, if workers run on several.
  };
  struct UnverifiedPeer {
    WorkerSocket::Connection connection;
    double since = 0;
  };

  WorkerFleet(FleetOptions options, const Clock& clock, WorkerSocket socket);
  void poll_workers();
  /// Name of a worker's remote launcher; empty: this host.
  const std::string& remote_name(std::size_t worker) const;
  bool is_remote(std::size_t worker) const { return !remote_name(worker).empty(); }
  /// Whether some workers run on other hosts, so that reports name hosts.
  bool reports_hosts() const;
  /// Whether no worker is ready and each has ended `tries` times in a row before it was ready.
  bool have_all_failed(int tries) const;
  void launch_due(double now);
  void accept_connections(double now);
  void reject_peer(UnverifiedPeer& peer);
  void receive_from(std::size_t worker);
  /// Errors: kDataLoss (the worker may not send this now).
  Result<void> handle_message(std::size_t worker, Message message);
  Result<void> check_message_counts(const Worker& entry) const;
  Result<void> handle_hello(std::size_t worker, const std::string& hello);
  void send_message(std::size_t worker, WireKind kind, std::string_view text);
  void handle_disconnect(std::size_t worker);
  void drop(std::size_t worker, bool has_ended, bool own_fault, const std::string& reason,
            bool is_misbehaviour = false);
  void check_any_usable(std::size_t worker, bool was_ready, bool own_fault, const std::optional<Error>& refusal,
                        const std::string& reason);
  void check_heartbeats(double now);
  void wait(double seconds);
  double heartbeat_seconds() const;

  FleetOptions options_;
  const Clock* clock_;
  WorkerSocket socket_;
  std::string build_;
  std::vector<Worker> workers_;
  std::vector<UnverifiedPeer> unverified_peers_;
  std::deque<FleetEvent> events_;
  Reaper reaper_;
  bool may_launch_ = true;
  std::optional<double> last_poll_seconds_;
  double next_heartbeat_ = 0;
};

}  // namespace lanista::engine
