#pragma once

#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/device_chooser.h"
#include "lanista/engine/core/lane_groups.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_search.h"

namespace lanista::engine {

/// Gives the executor the jobs of running trials, with their devices, lane groups and allowed epochs. Not thread-safe.
class JobLauncher {
 public:
  /// Launches jobs of the trials in `active`; `search` limits how far they run ahead. All arguments outlive this.
  JobLauncher(StudyContext& study, const StudySearch& search, ActiveTrials& active)
      : study_(study), search_(search), active_(active), devices_(study, active), groups_(study) {}

  /// Builds the trial's model and starts its job from a checkpoint; an empty address starts it from the beginning. A
  /// lost checkpoint is left out with a warning. If the job cannot be made or the executor refuses it, the trial fails
  /// at its next event. Errors: those of TrialModels::build.
  Result<void> start(ActiveTrial& trial, const std::string& checkpoint);
  /// Starts a trial from a checkpoint (empty: from its beginning) with a model that is already built. A lost checkpoint
  /// is left out with a warning. If the job cannot be made or the executor refuses it, the trial fails at its next
  /// event. Always succeeds.
  Result<void> start(ActiveTrial& trial, const std::string& checkpoint, BuiltModel built);
  /// In a resumed study, starts a trial that is ending or pausing from its last checkpoint, and allows the epochs that
  /// it still needs. Errors: those of start() and send_groups().
  Result<void> start_to_finish(ActiveTrial& trial);
  /// Lets a trial train through its next epoch with a verdict; a trial that ends or pauses only through
  /// ActiveTrial::next. Allowed epochs never decrease. The executor receives this with the next send_groups().
  void allow(ActiveTrial& trial);
  /// Records changed lane groups in the log, and sends them and the new allowances to the executor. Without a change it
  /// has no effect. Errors: those of the log.
  Result<void> send_groups() { return groups_.send(); }
  /// Ends the job of a trial at once and without a report. If the executor does not have it, there is no effect.
  void abandon(const ActiveTrial& trial) const;
  /// Removes a trial from the running trials and from its lane group; it must still be open in the state. Of a trial
  /// that is not running it has no effect.
  void remove(TrialId id);

  /// The chooser of devices, which lives as long as this.
  const DeviceChooser& devices() const { return devices_; }

 private:
  /// The job of a trial with its frozen part and its transfer plans. Errors: those of make_job (kInvalidArgument,
  /// kDataLoss) and plan_start, kNotFound (nothing is kept of its start).
  Result<Job> make_whole_job(const ActiveTrial& trial, graph::Graph model) const;
  /// Starts a job on its device. A lost checkpoint is left out with a warning.
  Result<void> start_job(ActiveTrial& trial, const std::string& checkpoint, Job& job);

  StudyContext& study_;
  const StudySearch& search_;
  ActiveTrials& active_;
  DeviceChooser devices_;
  LaneGroups groups_;
};

}  // namespace lanista::engine
