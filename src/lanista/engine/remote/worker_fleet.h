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
#include "lanista/ipc/worker_process.h"
#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/ipc/worker_socket.h"

namespace lanista::engine {

/// What begins workers, and where.
struct Launcher {
  std::string name;  ///< in messages: "ssh node2"; empty: here
  LaunchWorker launch;
  std::string host = {};  ///< where it begins them, as far as that is known before they say
};

/// What worker processes are begun with, and how long one may be silent.
struct FleetOptions {
  WorkerConfig worker_config;                     ///< of each worker; `workers` and `memory_bytes` are of one
  std::size_t workers = 1;               ///< processes
  double lease_seconds = 10;             ///< a worker that is silent for so long has lost its leases, and is ended
  std::string socket;                    ///< where they knock
  LaunchWorker launch;                   ///< here
  std::vector<Launcher> remote_launchers = {};  ///< if any, workers are dealt to these in turn
  double ready_leases = 60;              ///< leases from a worker's hello until it is ready: it reads its data
  std::size_t max_unread_bytes = std::size_t{256} << 20;  ///< bytes that wait for a worker to read them
};

/// Workers and the lines to them, as whoever lends them trials sees them: they come, speak, and go. One thread.
class Fleet {
 public:
  struct Ready {
    std::size_t worker = 0;
    pid_t process = 0;
    std::string host = {};  ///< where it runs, of fleets that begin workers elsewhere
  };
  struct WorkerMessage {
    std::size_t worker = 0;
    Message message;
  };
  struct Lost {
    std::size_t worker = 0;
    pid_t process = 0;
    bool own_fault = false;
    std::string reason;        ///< "was killed by signal 9 (Killed)"
    std::string host = {};     ///< as Ready has it; of one that never spoke its launcher's
    bool is_dropped = false;  ///< for what it sent (Fleet::expel)
  };
  /// There will be no workers.
  struct Broken {
    Error error;
  };
  using FleetEvent = std::variant<Ready, WorkerMessage, Lost, Broken>;

  virtual ~Fleet() = default;
  /// What happened, waiting at most `seconds` for something.
  virtual std::optional<FleetEvent> next(double seconds) = 0;
  /// To one that is ready; to others it is lost.
  virtual void send(std::size_t worker, WireKind kind, std::string_view text) = 0;
  virtual bool is_ready(std::size_t worker) const = 0;
  /// It has a process that was not ended, ready or not, or will have one at once. Of one elsewhere that is known when
  /// it has spoken: it may wait in a queue till then. One that is not ready within a lease is not due any more.
  virtual bool is_expected(std::size_t worker) const = 0;
  virtual pid_t process(std::size_t worker) const = 0;
  /// Ends one, as if it had gone by itself.
  virtual void mark_lost(std::size_t worker, bool own_fault, const std::string& reason) = 0;
  /// Ends one that sent what no honest worker sends. `what` continues "it ...". It says nothing about trials. Workers
  /// that are expelled WorkerFleet::kMaxFailures times in a row, with no progress in between, are no help; if all are, there
  /// will be none.
  virtual void end_misbehaving(std::size_t worker, const std::string& what) = 0;
  /// The worker did something that moves its trials on.
  virtual void note_progress(std::size_t) {}
  /// No process is begun any more.
  virtual void stop_launching() = 0;
};
/// Begins workers. Errors: kIo.
using MakeFleet = std::function<Result<std::unique_ptr<Fleet>>(const FleetOptions&, const Clock&)>;

/// Worker processes: begun, greeted, listened to, ended when they fall silent, begun again when they are gone. What
/// they do is not known here. One thread.
class WorkerFleet final : public Fleet {
 public:
  static constexpr int kMaxFailures = 5;         ///< processes in a row that end by themselves before they are ready
  static constexpr int kMaxKilled = 50;  ///< or are killed by others: then there are no more

  /// Begins them. All but options outlive this. Errors: kIo (no socket).
  static Result<std::unique_ptr<WorkerFleet>> begin(FleetOptions options, const Clock& clock);
  WorkerFleet(const WorkerFleet&) = delete;
  WorkerFleet& operator=(const WorkerFleet&) = delete;
  ~WorkerFleet() override;  ///< they end; those that do not are killed

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
    pid_t process = 0;  // 0: none
    std::optional<Channel> channel;
    bool is_ready = false;
    double launched_at_seconds = 0;
    double silent_seconds = 0;                  // seconds in which the engine listened
    double launch_at_seconds = 0;                // where there is none
    int failures = 0;                   // in a row
    int misbehaviours = 0;                   // in a row, with no progress in between
    bool has_sent_hello = false;            // its hello was received
    double preparing_seconds = 0;               // seconds from its hello until it is ready
    std::uint64_t received = 0;         // number of its last message
    std::int64_t heartbeats = 0;             // that it sent
    std::int64_t messages_without_progress = 0;      // other messages since it made progress
    std::optional<Error> refusal = {};  // why it cannot work here, as either side found
    std::string host = {};              // where it runs, if workers are begun elsewhere
  };
  struct UnverifiedPeer {
    WorkerSocket::Connection connection;
    double since = 0;
  };

  WorkerFleet(FleetOptions options, const Clock& clock, WorkerSocket socket);
  void poll_workers();
  /// Where a worker is, if that is not here.
  const std::string& remote_name(std::size_t worker) const;
  bool is_remote(std::size_t worker) const { return !remote_name(worker).empty(); }
  /// Some of its workers are on other machines, so that it is worth telling where each is.
  bool reports_hosts() const;
  /// There is none that works, and all of those to come end before they can, so many times in a row.
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
  void drop(std::size_t worker, bool has_ended, bool own_fault, const std::string& reason, bool is_misbehaviour = false);
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
