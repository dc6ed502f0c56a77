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
  /// Launches jobs of the trials in `active`; `search` limits how far they run ahead.
  JobLauncher(StudyContext& study, const StudySearch& search, ActiveTrials& active)
      : study_(study), search_(search), active_(active), devices_(study, active), groups_(study) {}

  /// Starts a trial from a checkpoint; empty: from its beginning. If the executor refuses it, the trial fails at its
  /// next event.
  Result<void> start(ActiveTrial& trial, const std::string& checkpoint);
  /// Starts a trial with a model that is already built.
  Result<void> start(ActiveTrial& trial, const std::string& checkpoint, BuiltModel built);
  /// Starts a trial that is ending or pausing in a resumed study, and allows the epochs that it needs.
  Result<void> start_to_finish(ActiveTrial& trial);
  /// Lets a trial train up to its next verdict. The executor receives it with the next send_groups().
  void allow(ActiveTrial& trial);
  /// Sends changed lane groups and new allowances to the executor.
  Result<void> send_groups() { return groups_.send(); }
  /// Ends the job of a trial at once and without a report, if the executor has it.
  void abandon(const ActiveTrial& trial) const;
  /// Removes an open trial from the running trials and from its lane group.
  void remove(TrialId id);

  /// Chooses the devices of trials.
  const DeviceChooser& devices() const { return devices_; }

 private:
  /// The job of a trial with its frozen part and its transfer plans. Errors: those of make_job and plan_start,
  /// kNotFound (nothing is kept of its start).
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
