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
  WorkerBrief brief;                     ///< of each worker; `workers` and `memory_bytes` are of one
  std::size_t workers = 1;               ///< processes
  double lease_seconds = 10;             ///< a worker that is silent for so long has lost its leases, and is ended
  std::string socket;                    ///< where they knock
  LaunchWorker launch;                   ///< here
  std::vector<Launcher> elsewhere = {};  ///< if any, workers are dealt to these in turn
  double ready_leases = 60;              ///< leases from a worker's hello until it is ready: it reads its data
  std::size_t most_unread = std::size_t{256} << 20;  ///< bytes that wait for a worker to read them
};

/// Workers and the lines to them, as whoever lends them trials sees them: they come, speak, and go. One thread.
class Fleet {
 public:
  struct Ready {
    std::size_t worker = 0;
    pid_t process = 0;
    std::string host = {};  ///< where it runs, of fleets that begin workers elsewhere
  };
  struct Heard {
    std::size_t worker = 0;
    Message message;
  };
  struct Lost {
    std::size_t worker = 0;
    pid_t process = 0;
    bool own_fault = false;
    std::string reason;        ///< "was killed by signal 9 (Killed)"
    std::string host = {};     ///< as Ready has it; of one that never spoke its launcher's
    bool was_dropped = false;  ///< for what it sent (Fleet::expel)
  };
  /// There will be no workers.
  struct Broken {
    Error error;
  };
  using News = std::variant<Ready, Heard, Lost, Broken>;

  virtual ~Fleet() = default;
  /// What happened, waiting at most `seconds` for something.
  virtual std::optional<News> next(double seconds) = 0;
  /// To one that is ready; to others it is lost.
  virtual void send(std::size_t worker, WireKind kind, std::string_view text) = 0;
  virtual bool is_ready(std::size_t worker) const = 0;
  /// It has a process that was not ended, ready or not, or will have one at once. Of one elsewhere that is known when
  /// it has spoken: it may wait in a queue till then. One that is not ready within a lease is not due any more.
  virtual bool is_due(std::size_t worker) const = 0;
  virtual pid_t process(std::size_t worker) const = 0;
  /// Ends one, as if it had gone by itself.
  virtual void lose(std::size_t worker, bool own_fault, const std::string& reason) = 0;
  /// Ends one that sent what no honest worker sends. `what` continues "it ...". It says nothing about trials. Workers
  /// that are expelled WorkerFleet::kTries times in a row, with no progress in between, are no help; if all are, there
  /// will be none.
  virtual void expel(std::size_t worker, const std::string& what) = 0;
  /// The worker did something that moves its trials on.
  virtual void note_progress(std::size_t) {}
  /// No process is begun any more.
  virtual void stop_beginning() = 0;
};
/// Begins workers. Errors: kIo.
using MakeFleet = std::function<Result<std::unique_ptr<Fleet>>(const FleetOptions&, const Clock&)>;

/// Worker processes: begun, greeted, listened to, ended when they fall silent, begun again when they are gone. What
/// they do is not known here. One thread.
class WorkerFleet final : public Fleet {
 public:
  static constexpr int kTries = 5;         ///< processes in a row that end by themselves before they are ready
  static constexpr int kKilledTries = 50;  ///< or are killed by others: then there are no more

  /// Begins them. All but options outlive this. Errors: kIo (no socket).
  static Result<std::unique_ptr<WorkerFleet>> begin(FleetOptions options, const Clock& clock);
  WorkerFleet(const WorkerFleet&) = delete;
  WorkerFleet& operator=(const WorkerFleet&) = delete;
  ~WorkerFleet() override;  ///< they end; those that do not are killed

  std::optional<News> next(double seconds) override;
  void send(std::size_t worker, WireKind kind, std::string_view text) override;
  bool is_ready(std::size_t worker) const override { return seats_[worker].is_ready; }
  bool is_due(std::size_t worker) const override;
  pid_t process(std::size_t worker) const override { return seats_[worker].process; }
  void lose(std::size_t worker, bool own_fault, const std::string& reason) override;
  void expel(std::size_t worker, const std::string& what) override;
  void note_progress(std::size_t worker) override;
  void stop_beginning() override { begins_ = false; }

 private:
  struct Seat {
    pid_t process = 0;  // 0: none
    std::optional<Channel> channel;
    bool is_ready = false;
    double begun = 0;
    double silent = 0;                  // seconds in which the engine listened
    double begin_at = 0;                // where there is none
    int failures = 0;                   // in a row
    int offences = 0;                   // in a row, with no progress in between
    bool has_spoken = false;            // its hello was received
    double preparing = 0;               // seconds from its hello until it is ready
    std::uint64_t received = 0;         // number of its last message
    std::int64_t beats = 0;             // that it sent
    std::int64_t unproductive = 0;      // other messages since it made progress
    std::optional<Error> refusal = {};  // why it cannot work here, as either side found
    std::string host = {};              // where it runs, if workers are begun elsewhere
  };
  struct Stranger {
    WorkerSocket::Guest guest;
    double since = 0;
  };

  WorkerFleet(FleetOptions options, const Clock& clock, WorkerSocket socket);
  void tick();
  /// Where a worker is, if that is not here.
  const std::string& place(std::size_t worker) const;
  bool is_elsewhere(std::size_t worker) const { return !place(worker).empty(); }
  /// Some of its workers are on other machines, so that it is worth telling where each is.
  bool tells_hosts() const;
  /// There is none that works, and all of those to come end before they can, so many times in a row.
  bool is_hopeless(int tries) const;
  void begin_due(double now);
  void welcome_guests(double now);
  void show_out(Stranger& stranger);
  void listen(std::size_t worker);
  /// Errors: kDataLoss (the worker may not send this now).
  Result<void> hear(std::size_t worker, Message message);
  Result<void> check_amount(const Seat& seat) const;
  Result<void> greet(std::size_t worker, const std::string& hello);
  void post(std::size_t worker, WireKind kind, std::string_view text);
  void gone(std::size_t worker);
  void drop(std::size_t worker, bool has_ended, bool own_fault, const std::string& reason, bool is_offence = false);
  void check_hope(std::size_t worker, bool was_ready, bool own_fault, const std::optional<Error>& refusal,
                  const std::string& reason);
  void watch_silence(double now);
  void wait(double seconds);
  double beat_seconds() const;

  FleetOptions options_;
  const Clock* clock_;
  WorkerSocket socket_;
  std::string build_;
  std::vector<Seat> seats_;
  std::vector<Stranger> strangers_;
  std::deque<News> news_;
  Reaper reaper_;
  bool begins_ = true;
  std::optional<double> last_tick_;
  double next_beat_ = 0;
};

}  // namespace lanista::engine
