#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/plan/elastic/scheduler_state.h"

// Helpers: workers without trials compute a share of the steps of other workers' trials.
namespace lanista::schedule {

/// A trial and its leader, the worker that owns it until the trial ends or the worker is lost.
struct PlacedTrial {
  TrialId trial;             ///< Its number.
  std::int32_t leader = 0;   ///< Number of its leader.
  bool has_work = true;      ///< False: it has no steps to train now, for example because it waits for a verdict.
  std::int64_t most = 1;     ///< Most workers of the trial, with its leader.
  Prediction expected = {};  ///< Predicted times of all its present work.
};

/// Everything that the assignment of helpers depends on.
struct HelperInput {
  double now = 0;                          ///< Second of the decision.
  std::vector<bool> is_alive;              ///< For each worker: false if it is lost.
  std::vector<PlacedTrial> trials;         ///< Trials with their leaders.
  std::map<std::size_t, TrialId> helping;  ///< Present helpers and their trials.
  PlanTarget target = {};                  ///< Target of the present plan.
};

/// The helpers from now on.
struct Helpers {
  std::map<std::size_t, TrialId> helping;  ///< The helpers and their trials.
  PlanTarget target;                       ///< Target of the plan from now on.
  bool operator==(const Helpers&) const = default;
};

/// Returns the state that a policy sees: one task for each leader with work, with the leader's number as its id.
///
/// The placement of a task is the leader and its helpers. Its work is that of all trials of the leader, which
/// alternate. A helper shortens only the turns of the trial that it helps. No task waits or shares a worker. Workers
/// without work of their own are free.
SchedulerState scheduler_state_of(const HelperInput& helper_input);

/// Returns the helpers of each trial, by the widths that the policy gives to leaders.
///
/// Only workers without work of their own help. Of several trials of a leader, a helper goes to the one that gains
/// most; present helpers stay. A worker without a task stays with a trial that it helped and that has no work now. No
/// trial exceeds its `most`, and no leader changes: if the policy gives a trial other workers, it gets them as helpers.
/// It changes how long a study runs, and no result. A pure function. O(trials x workers) and the time of the policy.
Helpers assign_helpers(const HelperInput& helper_input, const Policy& policy);

/// Returns the policy for helpers: elastic() with a least gain of 1 %.
///
/// The gain is small because a helper has nothing else to do, and because a trial does not wait for a new helper.
std::unique_ptr<Policy> policy_of_helpers();

}  // namespace lanista::schedule
