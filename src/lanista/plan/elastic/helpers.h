#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/plan/elastic/scheduler_state.h"

// Helpers: workers without trials compute a share of the steps of other workers' trials.
namespace lanista::plan {

/// A trial and its leader, the worker that owns it until the trial ends or the worker is lost.
struct PlacedTrial {
  TrialId trial;             ///< Number of the trial.
  std::int32_t leader = 0;   ///< Number of its leader.
  bool has_work = true;      ///< False: it has no steps to train now, for example because it waits for a verdict.
  std::int64_t most = 1;     ///< Most workers of the trial, with its leader; at least 1.
  Prediction expected = {};  ///< Predicted times of the work that it has now.
};

/// The input of one assignment of helpers. Workers are numbered from 0.
struct HelperInput {
  double now = 0;                          ///< Second of the decision.
  std::vector<bool> is_alive;              ///< For each worker: false if it is lost.
  std::vector<PlacedTrial> trials;         ///< Trials with their leaders.
  std::map<std::size_t, TrialId> helping;  ///< Trial of each worker that helps now, by worker.
  PlanTarget target = {};                  ///< Target of the present plan.
};

/// The result of an assignment: which workers help from now on.
struct Helpers {
  std::map<std::size_t, TrialId> helping;  ///< Trial of each worker that helps, by worker.
  PlanTarget target;                       ///< Target of the plan from now on.
  bool operator==(const Helpers&) const = default;
};

/// Returns the state that a policy sees: one task for each leader with work, with the leader's number as Task::id.
///
/// The placement of a task is the leader and its helpers. Its predicted times are those of all trials of the leader,
/// which alternate, where a helper shortens only the turns of the trial that it helps. No task waits or shares a
/// worker. Workers without work of their own are free.
SchedulerState scheduler_state_of(const HelperInput& helper_input);

/// Returns the workers that help, and their trials, by the widths that the policy gives to leaders.
///
/// Only workers without work of their own help. Of several trials of a leader, a helper goes to the one that gains
/// most; present helpers stay. A worker without a task stays with a trial that it helped and that has no work now. No
/// trial exceeds its `most`, and no leader changes: if the policy gives a trial other workers, it gets them as helpers.
/// It changes how long a study runs, and no result. A pure function if the policy is. O(trials x workers) and the time
/// of the policy.
Helpers assign_helpers(const HelperInput& helper_input, const Policy& policy);

/// Returns the policy for helpers: elastic() with a least gain of 1 %.
///
/// The gain is small because a helper has nothing else to do, and because a trial does not wait for a new helper.
std::unique_ptr<Policy> policy_of_helpers();

}  // namespace lanista::plan
