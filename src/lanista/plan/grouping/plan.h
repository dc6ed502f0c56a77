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

// Who runs with whom: what `lanista plan` prints, what the engine logs, and what executors do.
namespace lanista::schedule {

/// What there is to train on.
struct Machine {
  std::int64_t workers = 1;
  std::int64_t lanes = 0;                                         ///< of a program, at most; 0: as many as pay
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();  ///< for all workers together
  bool whole_groups = false;  ///< trials of one program are not shared out among workers, but for want of lanes
};

/// A running trial, as a plan looks at it.
struct PlannedTrial {
  TrialId id;
  Digest program;                       ///< study::program_key: equal for those that can be lanes of one program
  std::int64_t state_bytes = 0;         ///< study::state_bytes
  std::int64_t best_weights_bytes = 0;  ///< study::best_weights_bytes: beside the state, where no step touches it
};

/// Lanes of one program, ascending.
struct Group {
  std::vector<TrialId> trials;
  bool operator==(const Group&) const = default;
};

/// Every running trial in one group, in the order of their first trials. A worker that takes a trial of a group takes
/// as its lanes those others of it that may train as well; so a group may run in parts, and never with strangers.
struct GroupPlan {
  std::vector<Group> groups;
  bool operator==(const GroupPlan&) const = default;
};

/// How many of `trials` one of `workers` takes, so that every other finds some. At least 1.
std::int64_t fair_share(std::int64_t trials, std::int64_t workers);

/// Among how many workers trials of one program are shared out where each can find some.
std::int64_t num_lane_sharers(const Machine& machine);

/// Lanes of a program that the machine has room for, so that every worker has as much, and that pay
/// (step::max_cached_lanes). At least 1.
std::int64_t max_lanes_of(const PlannedTrial& trial, const Machine& machine);

/// Trials of one program are lanes together: as many as max_lanes_of allows, and no more than a worker's fair share of
/// all; those of larger populations are dealt evenly, in their order. A pure function: the same trials, in whatever
/// order, give the same plan, which is a Planner's first. Takes O(n log n).
GroupPlan make_plan(std::span<const PlannedTrial> trials, const Machine& machine);

std::string plan_text(const GroupPlan& plan);  ///< "1 5-8, 3": groups, and their trials
/// Errors: kDataLoss (no such text, a trial that stands in it twice, or more than a million of them).
Result<GroupPlan> plan_from_text(std::string_view text);

/// How one plan becomes the next: who is in which group from now on. Groups are numbered from 1 and keep their numbers;
/// only groups of several are spoken of, since a trial that is in none trains alone.
struct Regrouping {
  struct Part {
    std::int64_t group = 0;       ///< 0: in none
    std::vector<TrialId> trials;  ///< ascending
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;  ///< ascending by group; every trial once
  bool operator==(const Regrouping&) const = default;
};

std::string regrouping_text(const Regrouping& changes);  ///< "0: 17, 3: 1017 1020-1022"
/// Errors: those of plan_from_text; kDataLoss also for a group that stands in it twice.
Result<Regrouping> regrouping_from_text(std::string_view text);

}  // namespace lanista::schedule
