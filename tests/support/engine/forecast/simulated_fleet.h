#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/remote/worker_fleet.h"
#include "support/engine/core/fake_executor.h"

// A simulated cluster: workers, the network and their disk follow one clock and one random stream, so that a seed
// repeats any failure.
namespace lanista::engine::testing {

/// Numbers of faults, by kind.
using FaultCounts = std::map<std::string, std::int64_t>;

/// Workers that train nothing (FakeExecutor), with a disk that they share with the engine. Messages arrive late, in
/// order. At random, workers start late or end before they are ready. They are killed, crash, or stop for a while. They
/// are disconnected: their messages arrive later or never, while they continue to write files. They lose written files.
///
/// No trial has so many failures that it would end (Lease), so the result of a study is always the same.
class SimulatedFleet final : public Fleet {
 public:
  struct Options {
    std::uint64_t seed = 0;
    double fault_probability = 0.05;    ///< Probability of a fault at each action of a worker.
    std::size_t num_local_workers = 2;  ///< Local workers; the others are remote.
  };
  SimulatedFleet(const FleetOptions& fleet, Options options, VirtualClock& clock, MemoryFileSystem& disk,
                 FaultCounts& fault_counts);

  std::optional<FleetEvent> next(double seconds) override;
  void send(std::size_t worker, WireKind kind, std::string_view text) override;
  bool is_ready(std::size_t worker) const override { return workers_[worker].fake != nullptr; }
  bool is_expected(std::size_t worker) const override { return worker < options_.num_local_workers && may_launch_; }
  pid_t process(std::size_t worker) const override { return workers_[worker].process; }
  void mark_lost(std::size_t worker, bool own_fault, const std::string& reason) override;
  void end_misbehaving(std::size_t worker, const std::string& what) override;
  void stop_launching() override { may_launch_ = false; }

 private:
  struct InFlightMessage {
    double at = 0;
    Message message;
  };
  struct SimulatedWorker {
    std::unique_ptr<FakeExecutor> fake;  // Null: no process.
    pid_t process = 0;
    double wakes_at_seconds = 0;    // Time of its next action or its start.
    double last_seen_seconds = 0;   // When the engine last received a message from it.
    double disconnected_until = 0;  // Its messages wait until then.
    double stopped_until = 0;       // It is stopped until then.
    std::deque<InFlightMessage> inbox, outbox;
    std::map<TrialId, std::uint64_t> tokens;
    std::set<TrialId> active_trials;  // Active trials by the received messages.
  };
  struct ZombieWorker {
    std::unique_ptr<FakeExecutor> fake;  // Lost for the engine, but still running.
    double wakes_at_seconds = 0;
    int steps = 0;
  };

  double next_event_seconds(const SimulatedWorker& entry) const;
  void advance_worker(std::size_t worker);
  void start_worker(std::size_t worker);
  void step_worker(std::size_t worker);
  bool inject_fault(std::size_t worker);
  void execute(SimulatedWorker& entry, const Message& message);
  void send_to_engine(SimulatedWorker& entry, WireKind kind, std::string text);
  void send_report(SimulatedWorker& entry, const Report& report);
  void deliver(std::size_t worker);
  void drop(std::size_t worker, bool own_fault, const std::string& reason);
  bool can_lose(const SimulatedWorker& entry, bool own_fault) const;
  void step_zombies();
  double random_delay(double mean);
  std::string host_of(const SimulatedWorker& entry, std::size_t worker) const;

  FleetOptions fleet_;
  Options options_;
  VirtualClock& clock_;
  MemoryFileSystem& disk_;
  FaultCounts& fault_counts_;
  Rng rng_;
  std::vector<SimulatedWorker> workers_;
  std::vector<ZombieWorker> zombies_;
  std::deque<FleetEvent> events_;
  std::map<TrialId, int> losses_;                         // Losses since the last new epoch.
  std::map<TrialId, std::int64_t> last_reported_epochs_;  // Last epoch of each trial.
  std::set<TrialId> crashed_;
  bool may_launch_ = true;
  pid_t processes_ = 100;
};

}  // namespace lanista::engine::testing
