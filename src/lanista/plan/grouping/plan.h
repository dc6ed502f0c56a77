#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/model/autodiff/max_cached_lanes.h"

// Which trials train together: the plan that `lanista plan` prints, the engine logs and executors follow.
namespace lanista::plan {

/// The workers and the memory of a device, as limits of groups.
struct Machine {
  std::int64_t workers = 1;                                       ///< Number of workers.
  std::int64_t lanes = 0;                                         ///< Most lanes of a program; 0: as many as pay.
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();  ///< Memory of all workers together, in bytes.
  bool whole_groups = false;  ///< True: trials of one program are divided only if they exceed the lanes or the memory.
};

/// A running trial, as the planner sees it.
struct PlannedTrial {
  TrialId id;                           ///< Number of the trial.
  Digest program;                       ///< study::program_key; equal for trials that can be lanes of one program.
  std::int64_t state_bytes = 0;         ///< study::state_bytes: the lane state, in bytes.
  std::int64_t best_weights_bytes = 0;  ///< study::best_weights_bytes: kept weights that no step touches, in bytes.
};

/// Trials that are lanes of one program.
struct Group {
  std::vector<TrialId> trials;  ///< In ascending order.
  bool operator==(const Group&) const = default;
};

/// A partition of all running trials into groups.
///
/// A worker that starts a trial of a group also trains other trials of the group that are ready: all, or a fair share
/// if free workers would otherwise have no work. So a group may run in parts, but never together with trials of another
/// group.
struct GroupPlan {
  std::vector<Group> groups;  ///< In the order of their first trials.
  bool operator==(const GroupPlan&) const = default;
};

/// Returns how many trials each worker gets if all workers share them evenly, rounded up. At least 1.
std::int64_t fair_share(std::int64_t trials, std::int64_t workers);

/// Returns the number of workers among which trials of one program are divided: machine.workers, or 1 with
/// whole_groups. At least 1.
std::int64_t num_lane_sharers(const Machine& machine);

/// Returns the largest number of lanes of a program that fit into a worker's part of the memory and that pay. At least
/// 1.
///
/// The number that pays is `machine.lanes`, or autodiff::max_cached_lanes if that is 0.
std::int64_t max_lanes_of(const PlannedTrial& trial, const Machine& machine);

/// Returns the plan in which trials of one program are lanes together.
///
/// A group has at most max_lanes_of lanes and at most the fair share of one worker. If a program needs several groups,
/// their sizes differ by at most one. A pure function of the set of trials; their order does not matter. It is the
/// first plan of a Planner. O(n log n).
GroupPlan make_plan(std::span<const PlannedTrial> trials, const Machine& machine);

/// Returns the groups and their trials as text for records: "1 5-8, 3". Empty for no groups.
std::string plan_text(const GroupPlan& plan);
/// Reads the text of plan_text.
///
/// Errors: kDataLoss for a text that is no plan, a trial that is listed twice, and more than 2^20 trials.
Result<GroupPlan> plan_from_text(std::string_view text);

/// The difference between two plans: trials that change their group, with their new groups.
///
/// Groups are numbered from 1 and keep their numbers. Only groups of several trials have a number, since a trial
/// without a group trains alone.
struct Regrouping {
  /// Trials that are in one group from now on.
  struct Part {
    std::int64_t group = 0;       ///< Number of the group; 0: the trials train alone.
    std::vector<TrialId> trials;  ///< In ascending order.
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;  ///< In ascending order of groups; each trial at most once.
  bool operator==(const Regrouping&) const = default;
};

/// Returns the changes as text for records: "0: 17, 3: 1017 1020-1022". Empty for no changes.
std::string regrouping_text(const Regrouping& changes);
/// Reads the text of regrouping_text.
///
/// Errors: kDataLoss for a text that is no plan, a trial that is listed twice, more than 2^20 trials, and group numbers
/// that are not ascending.
Result<Regrouping> regrouping_from_text(std::string_view text);

}  // namespace lanista::plan
