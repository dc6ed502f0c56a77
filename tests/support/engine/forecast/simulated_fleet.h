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
using Troubles = std::map<std::string, std::int64_t>;

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
    double trouble = 0.05;  ///< chance of one, whenever a worker does something
    std::size_t near = 2;   ///< workers here; the others are elsewhere
  };
  SimulatedFleet(const FleetOptions& fleet, Options options, VirtualClock& clock, MemoryFileSystem& disk,
                 Troubles& troubles);

  std::optional<News> next(double seconds) override;
  void send(std::size_t worker, WireKind kind, std::string_view text) override;
  bool is_ready(std::size_t worker) const override { return seats_[worker].fake != nullptr; }
  bool is_due(std::size_t worker) const override { return worker < options_.near && begins_; }
  pid_t process(std::size_t worker) const override { return seats_[worker].process; }
  void lose(std::size_t worker, bool own_fault, const std::string& reason) override;
  void expel(std::size_t worker, const std::string& what) override;
  void stop_beginning() override { begins_ = false; }

 private:
  struct OnTheWay {
    double at = 0;
    Message message;
  };
  struct Seat {
    std::unique_ptr<FakeExecutor> fake;  // null: it is not there
    pid_t process = 0;
    double wakes = 0;          // when it does something next, or comes
    double heard = 0;          // when the engine last heard of it
    double cut_until = 0;      // nothing comes through until then
    double stopped_until = 0;  // it does nothing until then
    std::deque<OnTheWay> to, from;
    std::map<TrialId, std::uint64_t> tokens;
    std::set<TrialId> in_hand;  // as the engine has heard
  };
  struct Ghost {
    std::unique_ptr<FakeExecutor> fake;  // lost, and does not know it
    double wakes = 0;
    int steps = 0;
  };

  double next_of(const Seat& seat) const;
  void happen(std::size_t worker);
  void come(std::size_t worker);
  void work(std::size_t worker);
  bool trouble(std::size_t worker);
  void obey(Seat& seat, const Message& message);
  void tell(Seat& seat, WireKind kind, std::string text);
  void report(Seat& seat, const Report& report);
  void deliver(std::size_t worker);
  void drop(std::size_t worker, bool own_fault, const std::string& reason);
  bool may_lose(const Seat& seat, bool own_fault) const;
  void haunt();
  double soon(double mean);
  std::string host_of(const Seat& seat, std::size_t worker) const;

  FleetOptions fleet_;
  Options options_;
  VirtualClock& clock_;
  MemoryFileSystem& disk_;
  Troubles& troubles_;
  Rng rng_;
  std::vector<Seat> seats_;
  std::vector<Ghost> ghosts_;
  std::deque<News> news_;
  std::map<TrialId, int> losses_;         // since its last new epoch
  std::map<TrialId, std::int64_t> told_;  // epochs
  std::set<TrialId> crashed_;
  bool begins_ = true;
  pid_t processes_ = 100;
};

}  // namespace lanista::engine::testing
