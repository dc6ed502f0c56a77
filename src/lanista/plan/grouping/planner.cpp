#include "lanista/plan/grouping/planner.h"

#include <algorithm>
#include <iterator>

#include "lanista/base/check.h"

namespace lanista::plan {
namespace {

/// Returns the trials of each group as changes.
Regrouping regrouping_from(const std::map<std::int64_t, std::vector<TrialId>>& groups) {
  Regrouping changes;
  for (const auto& [group, trials] : groups) changes.parts.push_back({group, trials});
  return changes;
}

}  // namespace

void Planner::join(const PlannedTrial& trial) {
  const bool is_new = memberships_.try_emplace(trial.id, GroupMembership{trial.program}).second;
  LANISTA_CHECK(is_new, "a trial joins a plan twice");
  Program& program = programs_[trial.program];
  program.lanes = max_lanes_of(trial, machine_);
  program.waiting.insert(trial.id);
  changed_programs_.insert(trial.program);
}

void Planner::leave(TrialId trial) {
  const auto found = memberships_.find(trial);
  if (found == memberships_.end()) return;
  const GroupMembership& membership = found->second;
  Program& program = programs_.at(membership.program);
  if (membership.group != 0) remove_from_group(program, trial);
  program.waiting.erase(trial);
  if (membership.reported_group != 0) removed_trials_.insert(trial);
  changed_programs_.insert(membership.program);
  memberships_.erase(found);
}

Regrouping Planner::changes() {
  if (changed_programs_.empty()) return {};
  const std::int64_t share = fair_share(std::ssize(memberships_), num_lane_sharers(machine_)),
                     before = std::exchange(share_, share);
  if (share != before) {
    for (const auto& [key, program] : programs_) {
      if (program.lanes > std::min(share, before)) changed_programs_.insert(key);
    }
  }
  for (const Digest& key : std::exchange(changed_programs_, {})) {
    Program& program = programs_.at(key);
    rebalance(program);
    if (program.num_placed == 0) programs_.erase(key);
  }
  std::map<std::int64_t, std::vector<TrialId>> reported_group;
  for (const TrialId trial : std::exchange(moved_trials_, {})) {
    const auto membership = memberships_.find(trial);
    if (membership == memberships_.end()) continue;
    const std::int64_t group = shared_group(trial, membership->second);
    if (std::exchange(membership->second.reported_group, group) != group) reported_group[group].push_back(trial);
  }
  for (const TrialId trial : std::exchange(removed_trials_, {})) {
    const auto membership = memberships_.find(trial);
    if (membership == memberships_.end() || membership->second.reported_group == 0) reported_group[0].push_back(trial);
  }
  if (const auto alone = reported_group.find(0); alone != reported_group.end()) std::ranges::sort(alone->second);
  return regrouping_from(reported_group);
}

void Planner::rebalance(Program& program) {
  const std::int64_t most = std::min(program.lanes, share_);
  const std::int64_t trials = program.num_placed + std::ssize(program.waiting);
  const std::int64_t groups = (trials + most - 1) / most;
  auto& by_size = program.by_size;
  while (std::ssize(by_size) > groups) {
    const auto [size, smallest] = *by_size.begin();
    for (std::int64_t i = 0; i < size; ++i) release_youngest(program, smallest);
  }
  if (groups == 0) return;
  while (!by_size.empty() && by_size.rbegin()->first > (trials + groups - 1) / groups) {
    release_youngest(program, by_size.rbegin()->second);
  }
  const auto next = [&] { return program.waiting.extract(program.waiting.begin()).value(); };
  while (!program.waiting.empty() && !by_size.empty() && by_size.begin()->first < trials / groups) {
    add_to_group(program, next(), by_size.begin()->second);
  }
  // A new group gets trials with neighbouring numbers, which start at the same time.
  for (std::int64_t left = groups - std::ssize(by_size); left > 0; --left) {
    const std::int64_t group = ++last_group_;
    by_size.emplace(0, group);
    for (std::int64_t i = std::ssize(program.waiting) / left; i > 0; --i) add_to_group(program, next(), group);
  }
  while (!program.waiting.empty()) add_to_group(program, next(), by_size.begin()->second);
  while (by_size.rbegin()->first - by_size.begin()->first > 1) {
    release_youngest(program, by_size.rbegin()->second);
    add_to_group(program, next(), by_size.begin()->second);
  }
}

void Planner::add_to_group(Program& program, TrialId trial, std::int64_t group) {
  std::set<TrialId>& trials = program.groups[group];
  program.by_size.erase({std::ssize(trials), group});
  // A trial that was alone in the group is reported, too.
  if (trials.size() == 1) moved_trials_.insert(*trials.begin());
  trials.insert(trial);
  program.by_size.emplace(std::ssize(trials), group);
  ++program.num_placed;
  memberships_.at(trial).group = group;
  moved_trials_.insert(trial);
}

void Planner::remove_from_group(Program& program, TrialId trial) {
  GroupMembership& membership = memberships_.at(trial);
  const std::int64_t group = std::exchange(membership.group, 0);
  std::set<TrialId>& trials = program.groups.at(group);
  program.by_size.erase({std::ssize(trials), group});
  trials.erase(trial);
  if (trials.size() == 1) moved_trials_.insert(*trials.begin());
  if (trials.empty()) {
    program.groups.erase(group);
  } else {
    program.by_size.emplace(std::ssize(trials), group);
  }
  --program.num_placed;
  moved_trials_.insert(trial);
}

void Planner::release_youngest(Program& program, std::int64_t group) {
  const TrialId youngest = *program.groups.at(group).rbegin();
  remove_from_group(program, youngest);
  program.waiting.insert(youngest);
}

std::int64_t Planner::shared_group(TrialId trial, const GroupMembership& membership) const {
  LANISTA_CHECK(membership.group != 0, "trial " + std::to_string(trial.value) + " has no group in the plan");
  return programs_.at(membership.program).groups.at(membership.group).size() > 1 ? membership.group : 0;
}

GroupPlan Planner::plan() const {
  GroupPlan plan;
  for (const auto& [key, program] : programs_) {
    for (const auto& [number, trials] : program.groups) plan.groups.push_back({{trials.begin(), trials.end()}});
  }
  std::ranges::sort(plan.groups, {}, [](const Group& group) { return group.trials.front(); });
  return plan;
}

void Grouping::apply(const Regrouping& changes) {
  for (const Regrouping::Part& part : changes.parts) {
    for (const TrialId trial : part.trials) {
      if (part.group == 0) {
        groups_.erase(trial);
      } else {
        groups_[trial] = part.group;
      }
    }
  }
}

std::int64_t Grouping::group_of(TrialId trial) const {
  const auto found = groups_.find(trial);
  return found == groups_.end() ? 0 : found->second;
}

Regrouping Grouping::regrouping_for(std::span<const TrialId> trials) const {
  std::map<std::int64_t, std::vector<TrialId>> groups;
  for (const TrialId trial : std::set<TrialId>(trials.begin(), trials.end())) {
    if (const std::int64_t group = group_of(trial); group != 0) groups[group].push_back(trial);
  }
  return regrouping_from(groups);
}

GroupPlan Grouping::plan() const {
  GroupPlan plan;
  std::map<std::int64_t, std::size_t> placements;
  for (const auto& [trial, group] : groups_) {
    const auto [placement, is_new] = placements.emplace(group, plan.groups.size());
    if (is_new) plan.groups.emplace_back();
    plan.groups[placement->second].trials.push_back(trial);
  }
  return plan;
}

Regrouping regrouping_of(const GroupPlan& plan) {
  Regrouping changes;
  for (const Group& group : plan.groups) {
    if (group.trials.size() > 1) changes.parts.push_back({std::ssize(changes.parts) + 1, group.trials});
  }
  return changes;
}

}  // namespace lanista::plan
