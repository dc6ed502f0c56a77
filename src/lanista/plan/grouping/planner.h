#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/plan/grouping/plan.h"

namespace lanista::schedule {

/// The plan of trials that come and go. Of every program there are as few groups as hold its trials (make_plan's
/// limits), and no two of them differ by more than one trial; beyond that a trial stays where it is. So who comes takes
/// a free place or opens a group, who goes leaves one behind, and others move only to fill a new group, out of one that
/// is given up, or to even out two: at most about two groups' worth of them.
///
/// Whoever comes or goes costs O(lanes x log n), whatever the number of trials. Only where groups are as small as a
/// worker's fair share (fewer trials than all workers have lanes) can one trial change the limit of all. Not
/// thread-safe.
class Planner {
 public:
  explicit Planner(const Machine& machine) : machine_(machine) {}

  /// A trial that is not there. Trials of one program have equal bytes.
  void join(const PlannedTrial& trial);
  /// Nothing happens if it is not there.
  void leave(TrialId trial);
  /// What is to be told since the last call, of groups of several. A trial that has left and come again is told anew.
  Regrouping changes();
  /// All groups as of the last changes(), those of one as well.
  GroupPlan plan() const;

 private:
  struct Program {
    std::int64_t lanes = 1;                                   ///< max_lanes_of
    std::map<std::int64_t, std::set<TrialId>> groups;         ///< by number; none is empty between calls
    std::set<std::pair<std::int64_t, std::int64_t>> by_size;  ///< size and number of each
    std::set<TrialId> waiting;                                ///< for a place
    std::int64_t num_placed = 0;
  };
  struct GroupMembership {
    Digest program;
    std::int64_t group = 0;           ///< 0: it waits for one
    std::int64_t reported_group = 0;  ///< the group of several that it was told to be in; 0: none
  };

  void rebalance(Program& program);
  void add_to_group(Program& program, TrialId trial, std::int64_t group);
  void remove_from_group(Program& program, TrialId trial);
  void release_youngest(Program& program, std::int64_t group);
  /// Where whoever looks from outside sees the trial.
  std::int64_t shared_group(TrialId trial, const GroupMembership& membership) const;

  Machine machine_;
  std::map<Digest, Program> programs_;
  std::map<TrialId, GroupMembership> memberships_;
  std::set<Digest> changed_programs_;  // programs
  std::set<TrialId> moved_trials_;     // whose group may have to be told
  std::set<TrialId> removed_trials_;   // who were told to be in a group and left
  std::int64_t share_ = 1, last_group_ = 0;
};

/// A plan as its changes tell it: what executors and readers of logs keep. Not thread-safe.
class Grouping {
 public:
  void apply(const Regrouping& changes);
  /// 0: it trains alone.
  std::int64_t group_of(TrialId trial) const;
  /// What to tell somebody who has heard nothing of these trials.
  Regrouping regrouping_for(std::span<const TrialId> trials) const;
  /// The groups of several.
  GroupPlan plan() const;

 private:
  std::map<TrialId, std::int64_t> groups_;
};

/// A whole plan as changes to none. Groups of one are left out.
Regrouping regrouping_of(const GroupPlan& plan);

}  // namespace lanista::schedule
