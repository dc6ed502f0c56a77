#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/plan/elastic/scheduler_state.h"

// Who helps whom where every trial has a home: a policy's widths, as far as homes let them be had.
namespace lanista::schedule {

/// A trial and the worker that trains it, its home, as long as that is there.
struct PlacedTrial {
  TrialId trial;
  std::int32_t leader = 0;
  bool has_work = true;      ///< at the moment; false: it waits for a verdict, say
  std::int64_t most = 1;     ///< workers that it may have, its home included
  Prediction expected = {};  ///< of all the work that it has now
};

/// What is known when helpers are to be sent.
struct HelperInput {
  double now = 0;              ///< seconds
  std::vector<bool> is_alive;  ///< of each worker
  std::vector<PlacedTrial> trials;
  std::map<std::size_t, TrialId> helping;  ///< workers that help a trial now
  PlanTarget target = {};                  ///< of the plan in force
};

struct Helpers {
  std::map<std::size_t, TrialId> helping;
  PlanTarget target;  ///< of the plan from here on
  bool operator==(const Helpers&) const = default;
};

/// The homes that have work as a policy sees them, a task each: its place is the worker and who helps there, its work
/// all that its trials have, in turns, of which a helper shortens the part of the trial that it helps. Nobody waits,
/// nobody shares a worker, and workers that have no work of their own are free. `tasks[k].id` is the home.
SchedulerState scheduler_state_of(const HelperInput& helper_input);

/// Asks the policy for the widths of homes, and has those of the workers without work of their own help that it gives
/// to a home: there each goes to the trial that gains most by one more, those who help already stay. A worker that it
/// gives to nobody goes on with a trial that has no work at the moment, if it helped that. No trial has more than it
/// may, and nobody's home is moved: a policy that gives a trial other workers than its home gets it helpers. It decides
/// how long a study takes, and no result. A pure function; the policy's time, and trials x workers.
Helpers assign_helpers(const HelperInput& helper_input, const Policy& policy);

/// The scheduler that is ours, as `simulate` has it, save that it lets a worker help for a hundredth of the time that a
/// home still takes: who helps has nothing else to do, and who is helped waits for nobody.
std::unique_ptr<Policy> policy_of_helpers();

}  // namespace lanista::schedule
