#include "lanista/plan/grouping/planner.h"

#include <algorithm>
#include <iterator>

#include "lanista/base/check.h"

namespace lanista::schedule {
namespace {

Regrouping regrouping_from(const std::map<std::int64_t, std::vector<TrialId>>& groups) {
  Regrouping changes;
  for (const auto& [group, trials] : groups) changes.parts.push_back({group, trials});
  return changes;
}

}  // namespace

void Planner::join(const Trial& trial) {
  const bool is_new = seats_.try_emplace(trial.id, Seat{trial.program}).second;
  LANISTA_CHECK(is_new, "a trial joins a plan that it is in");
  Program& program = programs_[trial.program];
  program.lanes = most_lanes(trial, machine_);
  program.waiting.insert(trial.id);
  touched_.insert(trial.program);
}

void Planner::leave(TrialId trial) {
  const auto found = seats_.find(trial);
  if (found == seats_.end()) return;
  const Seat& seat = found->second;
  Program& program = programs_.at(seat.program);
  if (seat.group != 0) take(program, trial);
  program.waiting.erase(trial);
  if (seat.told != 0) gone_.insert(trial);
  touched_.insert(seat.program);
  seats_.erase(found);
}

Regrouping Planner::changes() {
  if (touched_.empty()) return {};
  const std::int64_t share = fair_share(std::ssize(seats_), shares_of(machine_)), before = std::exchange(share_, share);
  if (share != before) {
    for (const auto& [key, program] : programs_) {
      if (program.lanes > std::min(share, before)) touched_.insert(key);
    }
  }
  for (const Digest& key : std::exchange(touched_, {})) {
    Program& program = programs_.at(key);
    settle(program);
    if (program.seated == 0) programs_.erase(key);
  }
  std::map<std::int64_t, std::vector<TrialId>> told;
  for (const TrialId trial : std::exchange(moved_, {})) {
    const auto seat = seats_.find(trial);
    if (seat == seats_.end()) continue;
    const std::int64_t group = shared_group(trial, seat->second);
    if (std::exchange(seat->second.told, group) != group) told[group].push_back(trial);
  }
  for (const TrialId trial : std::exchange(gone_, {})) {
    const auto seat = seats_.find(trial);
    if (seat == seats_.end() || seat->second.told == 0) told[0].push_back(trial);
  }
  if (const auto alone = told.find(0); alone != told.end()) std::ranges::sort(alone->second);
  return regrouping_from(told);
}

void Planner::settle(Program& program) {
  const std::int64_t most = std::min(program.lanes, share_);
  const std::int64_t trials = program.seated + std::ssize(program.waiting);
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
    put(program, next(), by_size.begin()->second);
  }
  // New groups are of neighbours: they begin together.
  for (std::int64_t left = groups - std::ssize(by_size); left > 0; --left) {
    const std::int64_t group = ++last_group_;
    by_size.emplace(0, group);
    for (std::int64_t i = std::ssize(program.waiting) / left; i > 0; --i) put(program, next(), group);
  }
  while (!program.waiting.empty()) put(program, next(), by_size.begin()->second);
  while (by_size.rbegin()->first - by_size.begin()->first > 1) {
    release_youngest(program, by_size.rbegin()->second);
    put(program, next(), by_size.begin()->second);
  }
}

void Planner::put(Program& program, TrialId trial, std::int64_t group) {
  std::set<TrialId>& trials = program.groups[group];
  program.by_size.erase({std::ssize(trials), group});
  // Whoever was alone there is told, too.
  if (trials.size() == 1) moved_.insert(*trials.begin());
  trials.insert(trial);
  program.by_size.emplace(std::ssize(trials), group);
  ++program.seated;
  seats_.at(trial).group = group;
  moved_.insert(trial);
}

void Planner::take(Program& program, TrialId trial) {
  Seat& seat = seats_.at(trial);
  const std::int64_t group = std::exchange(seat.group, 0);
  std::set<TrialId>& trials = program.groups.at(group);
  program.by_size.erase({std::ssize(trials), group});
  trials.erase(trial);
  if (trials.size() == 1) moved_.insert(*trials.begin());
  if (trials.empty()) {
    program.groups.erase(group);
  } else {
    program.by_size.emplace(std::ssize(trials), group);
  }
  --program.seated;
  moved_.insert(trial);
}

void Planner::release_youngest(Program& program, std::int64_t group) {
  const TrialId youngest = *program.groups.at(group).rbegin();
  take(program, youngest);
  program.waiting.insert(youngest);
}

std::int64_t Planner::shared_group(TrialId trial, const Seat& seat) const {
  LANISTA_CHECK(seat.group != 0, "trial " + std::to_string(trial.value) + " has no place in the plan");
  return programs_.at(seat.program).groups.at(seat.group).size() > 1 ? seat.group : 0;
}

Plan Planner::plan() const {
  Plan plan;
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

Regrouping Grouping::of(std::span<const TrialId> trials) const {
  std::map<std::int64_t, std::vector<TrialId>> groups;
  for (const TrialId trial : std::set<TrialId>(trials.begin(), trials.end())) {
    if (const std::int64_t group = group_of(trial); group != 0) groups[group].push_back(trial);
  }
  return regrouping_from(groups);
}

Plan Grouping::plan() const {
  Plan plan;
  std::map<std::int64_t, std::size_t> places;
  for (const auto& [trial, group] : groups_) {
    const auto [place, is_new] = places.emplace(group, plan.groups.size());
    if (is_new) plan.groups.emplace_back();
    plan.groups[place->second].trials.push_back(trial);
  }
  return plan;
}

Regrouping regrouping_of(const Plan& plan) {
  Regrouping changes;
  for (const Group& group : plan.groups) {
    if (group.trials.size() > 1) changes.parts.push_back({std::ssize(changes.parts) + 1, group.trials});
  }
  return changes;
}

}  // namespace lanista::schedule
