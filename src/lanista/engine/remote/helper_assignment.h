#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/private_folder.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/leases.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/elastic/helpers.h"
#include "lanista/plan/elastic/width_tuner.h"

namespace lanista::engine {

/// Which worker processes help which trials (run.width), and the orders that make it so. Widths are a policy's of room
/// schedule, the one that `lanista simulate` plays. It is asked where somebody idle might help and something changed: a
/// trial came, ended, was allowed further or had no work any more, a worker came or went, another width is to be tried,
/// or a step takes a tenth more or less than was thought.
///
/// What a trial takes is what its program's steps took; before one was told, what studies before it took
/// (`TimingHistory`), or its cost on a nominal machine. With a width of so and so many, further workers are taken to be
/// worth what they are on this machine in the median; with `auto` what was measured says. No process and no clock.
class HelperAssignment {
 public:
  using SendCommand = std::function<void(std::size_t worker, const Command& command)>;

  /// `socket` names the sessions, so that what a killed executor of this name left in shared memory is cleared away, as
  /// it is at the end. Sessions are files in a folder with a random name, which only this user can enter. `known` may be
  /// null.
  HelperAssignment(std::int64_t width, std::size_t workers, const std::string& socket, std::shared_ptr<const TimingHistory> known);
  ~HelperAssignment();
  HelperAssignment(const HelperAssignment&) = delete;
  HelperAssignment& operator=(const HelperAssignment&) = delete;

  /// A trial that is to be trained.
  void note(const Job& job);
  /// An epoch of a trial that was alone in its steps tells how long they are with so many workers.
  void note(const SpanReport& span);
  /// A worker is gone, who may have helped, and whose sessions nobody ends now. Before its leases are taken from it.
  void mark_lost(std::size_t worker, Leases& leases);

  /// Tells those that are `ready` whom to help from now on, and their leaders where to meet. O(trials + workers), and
  /// where the policy is asked its time.
  void send(Leases& leases, const std::vector<bool>& ready, double now, const SendCommand& send_command);

  const std::map<std::size_t, TrialId>& trials_by_helper() const { return trials_by_helper_; }
  std::int64_t times_decided() const { return times_decided_; }

 private:
  /// What is known of a trial's program without its having run.
  struct Program {
    std::string key;  ///< empty: it can have no helper
    double step = 0;  ///< seconds, expected
    double steps = 1;  ///< of an epoch
  };
  /// All that a decision hangs on, beside times.
  struct DecisionInputs {
    struct Trial {
      TrialId trial;
      std::uint64_t token = 0;
      std::int32_t worker = 0;
      std::int64_t max_width = 1, allowed = 0;
      bool has_work = false;
      bool operator==(const Trial&) const = default;
    };
    std::vector<Trial> trials;
    std::vector<bool> ready;
    std::map<std::size_t, TrialId> helping;
    std::uint64_t num_time_changes = 0;  ///< how often they changed
    bool operator==(const DecisionInputs&) const = default;
  };

  bool measures_widths() const;
  std::int64_t max_width_of(const Lease& lease) const;
  schedule::Prediction predicted_step(const Program& program) const;
  schedule::Prediction expected(const Lease& lease) const;
  std::map<std::size_t, TrialId> decide(const Leases& leases, const DecisionInputs& inputs, double now);
  void clear_sessions() const;
  std::string new_session();

  const std::int64_t width_, max_width_;
  const std::string folder_prefix_;  // of the folder of sessions
  const std::shared_ptr<const TimingHistory> timing_history_;
  const std::size_t workers_;
  const graph::OpTable ops_ = graph::builtin_ops();
  const std::unique_ptr<schedule::Policy> policy_, fallback_policy_;

  std::map<std::size_t, TrialId> trials_by_helper_;       // workers that have nothing else to do
  std::map<std::size_t, std::string> sessions_;  // that they were sent to
  std::optional<PrivateFolder> folder_;          // of sessions, from the first one on
  std::uint64_t sessions_made_ = 0;
  schedule::WidthTuner widths_;         // of programs
  std::map<TrialId, Program> programs_;  // of trials that may have helpers
  std::map<std::string, double> decided_step_seconds_;   // seconds of a step by which decisions were made, by program
  std::uint64_t num_time_changes_ = 0;
  DecisionInputs last_inputs_;
  schedule::PlanTarget aim_;
  std::int64_t times_decided_ = 0;
};

}  // namespace lanista::engine
