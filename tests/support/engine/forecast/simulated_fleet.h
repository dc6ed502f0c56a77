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
#include "lanista/engine/core/fake_executor.h"
#include "lanista/engine/remote/worker_fleet.h"

// A cluster that is not there: workers, the network and their disk by one clock and one draw, so that any trouble can
// be had again by its seed.
namespace lanista::engine::testing {

/// What has gone wrong, by kind.
using FaultCounts = std::map<std::string, std::int64_t>;

/// Workers that train nothing (FakeExecutor), over a disk that they share with the engine. Messages take their time, in
/// order. By draw: workers come late or end before they can work, are killed or crash, stop for a while, are cut off
/// (what they say meanwhile comes later, or never, and they go on writing files), and lose what they wrote.
///
/// No trial is given so much of it that it would have to be given up (Lease): what a study comes to is then the same
/// whatever happens.
class SimulatedFleet final : public Fleet {
 public:
  struct Options {
    std::uint64_t seed = 0;
    double fault_probability = 0.05;  ///< chance of one, whenever a worker does something
    std::size_t num_local_workers = 2;   ///< workers here; the others are elsewhere
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
    std::unique_ptr<FakeExecutor> fake;  // null: it is not there
    pid_t process = 0;
    double wakes_at_seconds = 0;          // when it does something next, or comes
    double last_seen_seconds = 0;          // when the engine last heard of it
    double disconnected_until = 0;      // nothing comes through until then
    double stopped_until = 0;  // it does nothing until then
    std::deque<InFlightMessage> inbox, outbox;
    std::map<TrialId, std::uint64_t> tokens;
    std::set<TrialId> active_trials;  // as the engine has heard
  };
  struct ZombieWorker {
    std::unique_ptr<FakeExecutor> fake;  // lost, and does not know it
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
  std::map<TrialId, int> losses_;         // since its last new epoch
  std::map<TrialId, std::int64_t> last_reported_epochs_;  // epochs
  std::set<TrialId> crashed_;
  bool may_launch_ = true;
  pid_t processes_ = 100;
};

}  // namespace lanista::engine::testing
