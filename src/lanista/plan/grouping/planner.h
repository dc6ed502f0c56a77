#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/plan/grouping/plan.h"

namespace lanista::plan {

/// The plan of trials that come and go, with few moves.
///
/// Each program has as few groups as the limits of make_plan allow, and their sizes differ by at most one. A new trial
/// fills a free lane or opens a group. Other trials move only to fill a new group, out of a group that is closed, or to
/// make sizes equal: at most about two groups of trials.
///
/// A trial that joins or leaves costs O(lanes x log n). The limit of all groups changes only if there are fewer trials
/// than lanes on all workers. Not thread-safe.
class Planner {
 public:
  /// Makes an empty plan for this device.
  explicit Planner(const Machine& machine) : machine_(machine) {}

  /// Adds a trial that is not in the plan, else it throws InternalError. Trials of one program must have equal bytes.
  void join(const PlannedTrial& trial);
  /// Removes a trial. Does nothing if it is not in the plan.
  void leave(TrialId trial);
  /// Applies the joins and leaves, and returns which trials changed their group since the last call.
  ///
  /// Only groups of several trials are reported. A trial that left such a group, or is the only one that stays, is
  /// reported with group 0. A trial that left and joined again is reported again.
  Regrouping changes();
  /// Returns all groups as of the last call of changes(), in the order of their first trials, with groups of one.
  GroupPlan plan() const;

 private:
  struct Program {
    std::int64_t lanes = 1;                                   ///< The result of max_lanes_of.
    std::map<std::int64_t, std::set<TrialId>> groups;         ///< By number; none is empty between calls.
    std::set<std::pair<std::int64_t, std::int64_t>> by_size;  ///< Size and number of each group.
    std::set<TrialId> waiting;                                ///< Trials without a group.
    std::int64_t num_placed = 0;                              ///< Trials in groups.
  };
  struct GroupMembership {
    Digest program;
    std::int64_t group = 0;           ///< 0: the trial waits for a group.
    std::int64_t reported_group = 0;  ///< Last reported group of several trials; 0: none.
  };

  void rebalance(Program& program);
  void add_to_group(Program& program, TrialId trial, std::int64_t group);
  void remove_from_group(Program& program, TrialId trial);
  void release_youngest(Program& program, std::int64_t group);
  /// Returns the group of several trials that has the trial, or 0.
  std::int64_t shared_group(TrialId trial, const GroupMembership& membership) const;

  Machine machine_;
  std::map<Digest, Program> programs_;
  std::map<TrialId, GroupMembership> memberships_;
  std::set<Digest> changed_programs_;
  std::set<TrialId> moved_trials_;    // Trials with a group that may have to be reported.
  std::set<TrialId> removed_trials_;  // Trials that left a reported group and the plan.
  std::int64_t share_ = 1, last_group_ = 0;
};

/// The groups that result from a sequence of changes. Executors and readers of logs keep one. Not thread-safe.
class Grouping {
 public:
  /// Moves the trials of `changes` to their new groups.
  void apply(const Regrouping& changes);
  /// Returns the number of the trial's group; 0: it trains alone or is unknown.
  std::int64_t group_of(TrialId trial) const;
  /// Returns the present groups cut to these trials, for an executor that receives these trials now. A group keeps its
  /// number, also if only one of these trials is in it. Trials without a group (group_of() is 0) are left out.
  Regrouping regrouping_for(std::span<const TrialId> trials) const;
  /// Returns the groups that have a number, each with its trials in ascending order.
  GroupPlan plan() const;

 private:
  std::map<TrialId, std::int64_t> groups_;
};

/// Returns a plan as the changes from an empty plan. Groups of one are left out; the others are numbered from 1.
Regrouping regrouping_of(const GroupPlan& plan);

}  // namespace lanista::plan
