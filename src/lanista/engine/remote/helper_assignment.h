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
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/engine/remote/leases.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/elastic/helpers.h"
#include "lanista/plan/elastic/width_tuner.h"

namespace lanista::engine {

/// Decides which worker processes help which trials (`run.width`), and sends the commands for it.
///
/// The widths come from a policy of plan/elastic, the one that `lanista simulate` uses. It runs if a worker is idle and
/// something has changed. A trial arrived, ended, was allowed more epochs or ran out of work. A worker started or was
/// lost. Another width is due for a measurement. The time of a step has changed by a tenth.
///
/// The time of a trial's step is the measured time of its program. Before the first measurement it comes from earlier
/// studies (`TimingHistory`) or from the cost on a nominal machine. With a fixed width, the gain of further workers is
/// the median on this machine; with `auto` it is measured. This class starts no process and reads no clock. Not
/// thread-safe.
class HelperAssignment {
 public:
  /// Sends a command to the worker with this index.
  using SendCommand = std::function<void(std::size_t worker, const Command& command)>;

  /// No worker helps yet. `width` is the most workers of a trial; 0: it is measured (`auto`). `workers` is the number
  /// of worker processes. `known` has step times of earlier studies; null: none.
  ///
  /// `socket` names the sessions: files in a shared-memory folder with a random name, which only this user can open.
  /// Folders that a killed executor of this name left are removed, as are its own files at the end.
  HelperAssignment(std::int64_t width, std::size_t workers, const std::string& socket,
                   std::shared_ptr<const TimingHistory> known);
  ~HelperAssignment();
  HelperAssignment(const HelperAssignment&) = delete;
  HelperAssignment& operator=(const HelperAssignment&) = delete;

  /// Stores the step cost of a trial that will be trained. An earlier job of the trial is replaced. A trial without
  /// this call, or with a model that cannot be planned, gets no helpers.
  void note(const Job& job);
  /// Uses the times of a span. A span without other lanes gives the time of a step for its number of workers.
  void note(const SpanReport& span);
  /// Handles the loss of a worker: it helps no trial any more, and the session files of its own trials are removed.
  /// Counts Lease::helper_losses of the trial that it helped. Call it before Leases::mark_lost.
  void mark_lost(std::size_t worker, Leases& leases);

  /// Sends changed assignments to helping workers, and sessions to the workers of the helped trials. `ready` is true
  /// for each worker that can receive jobs; `now` is in clock seconds. O(trials + workers), plus the time of the policy
  /// if it runs.
  void send(Leases& leases, const std::vector<bool>& ready, double now, const SendCommand& send_command);

  /// The trial that each helping worker helps, by index of the worker. The reference lives as long as this object.
  const std::map<std::size_t, TrialId>& trials_by_helper() const { return trials_by_helper_; }
  /// Number of times that the policy has run.
  std::int64_t times_decided() const { return times_decided_; }

 private:
  /// Expected cost of a trial's program before a measurement.
  struct Program {
    std::string key;   ///< Key of the program; empty: it can have no helper.
    double step = 0;   ///< Expected seconds of a step.
    double steps = 1;  ///< Steps of an epoch.
  };
  /// The inputs of a decision, except times.
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
    std::uint64_t num_time_changes = 0;  ///< Number of changes of step times.
    bool operator==(const DecisionInputs&) const = default;
  };

  bool measures_widths() const;
  std::int64_t max_width_of(const Lease& lease) const;
  plan::Prediction predicted_step(const Program& program) const;
  plan::Prediction expected(const Lease& lease) const;
  std::map<std::size_t, TrialId> decide(const Leases& leases, const DecisionInputs& inputs, double now);
  void clear_sessions() const;
  std::string new_session();

  const std::int64_t width_, max_width_;
  const std::string folder_prefix_;  // Prefix of the session folder's path.
  const std::shared_ptr<const TimingHistory> timing_history_;
  const std::size_t workers_;
  const graph::OpTable ops_ = graph::builtin_ops();
  const std::unique_ptr<plan::Policy> policy_, fallback_policy_;

  std::map<std::size_t, TrialId> trials_by_helper_;  // Idle workers that help.
  std::map<std::size_t, std::string> sessions_;      // Session of each helping worker.
  std::optional<PrivateFolder> folder_;              // Folder of the session files; made with the first one.
  std::uint64_t sessions_made_ = 0;
  plan::WidthTuner widths_;                             // Widths by program.
  std::map<TrialId, Program> programs_;                 // Programs of trials that may have helpers.
  std::map<std::string, double> decided_step_seconds_;  // Seconds of a step at the last decision, by program.
  std::uint64_t num_time_changes_ = 0;
  DecisionInputs last_inputs_;
  plan::PlanTarget aim_;
  std::int64_t times_decided_ = 0;
};

}  // namespace lanista::engine
