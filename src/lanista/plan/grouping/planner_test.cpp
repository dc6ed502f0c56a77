#include "lanista/plan/grouping/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lanista/base/rng.h"

namespace lanista::plan {
namespace {

/// Returns a trial of this program.
PlannedTrial lane(std::uint32_t id, const std::string& program, std::int64_t bytes = 0) {
  return {TrialId{id}, hash_text(program), bytes};
}

/// Adds the trials `first` to `last`, all of one program.
void join_all(Planner& planner, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t id = first; id <= last; ++id) planner.join(lane(id, "a"));
}

/// Returns the text of the changes since the last call.
std::string reported(Planner& planner) { return regrouping_text(planner.changes()); }

/// Returns the number of trials in the changes.
std::size_t named(const Regrouping& changes) {
  std::size_t trials = 0;
  for (const Regrouping::Part& part : changes.parts) trials += part.trials.size();
  return trials;
}

TEST(Planner, ReportsOnlyChanges) {
  Planner planner({.lanes = 4});
  join_all(planner, 1, 8);
  EXPECT_EQ(reported(planner), "1: 1-4, 2: 5-8");

  planner.leave(TrialId{3});
  planner.join(lane(9, "a"));

  EXPECT_EQ(reported(planner), "0: 3, 1: 9");
  EXPECT_EQ(reported(planner), "") << "each change is reported once";
  EXPECT_EQ(plan_text(planner.plan()), "1 2 4 9, 5-8");
}

TEST(Planner, ReportsOnlyGroupsOfSeveral) {
  Planner planner({.lanes = 4});
  planner.join(lane(1, "a"));
  EXPECT_EQ(reported(planner), "");
  planner.join(lane(2, "b"));
  EXPECT_EQ(reported(planner), "");
  planner.join(lane(3, "a"));
  EXPECT_EQ(reported(planner), "1: 1 3") << "the trial that was alone is reported as well";
  planner.leave(TrialId{1});
  EXPECT_EQ(reported(planner), "0: 1 3") << "the remaining trial is alone";
}

// An executor that evicted the trial has no group of it any more.
TEST(Planner, ReportsAReturnedTrialAgain) {
  Planner planner({.lanes = 4});
  join_all(planner, 1, 3);
  ASSERT_EQ(reported(planner), "1: 1-3");
  planner.leave(TrialId{2});
  planner.join(lane(2, "a"));
  EXPECT_EQ(reported(planner), "1: 2");
}

TEST(Planner, ClosesAndOpensGroupsAsNeeded) {
  Planner planner({.lanes = 3});
  join_all(planner, 1, 6);
  ASSERT_EQ(reported(planner), "1: 1-3, 2: 4-6");
  join_all(planner, 7, 7);
  EXPECT_EQ(reported(planner), "3: 6 7") << "one trial moves, so that no trial is alone";
  for (const std::uint32_t id : {1U, 4U}) planner.leave(TrialId{id});
  planner.leave(TrialId{7});
  EXPECT_EQ(reported(planner), "0: 1 4 7, 3: 5");
}

TEST(Planner, IsAsGoodAsANewPlanAfterEveryChange) {
  const Rng root(20261124);
  std::size_t moves = 0, events = 0;
  for (std::uint64_t number = 0; number < 300; ++number) {
    Rng rng = root.split(number);
    const Machine machine{.workers = rng.between(1, 4), .lanes = rng.between(1, 6), .bytes = rng.between(100, 4000)};
    Planner planner(machine);
    Grouping received;
    std::map<TrialId, PlannedTrial> there;
    std::set<TrialId> paused;
    const std::int64_t most = rng.between(1, 60);
    std::uint32_t next = 0;
    for (int turn = 0; turn < 60; ++turn) {
      for (std::int64_t event = rng.between(1, turn == 0 ? most : 4); event > 0; --event) {
        ++events;
        if (!there.empty() && (std::ssize(there) >= most || rng.bernoulli(0.45))) {
          const auto leaver = std::next(there.begin(), rng.between(0, std::ssize(there) - 1));
          planner.leave(leaver->first);
          if (rng.bernoulli(0.3)) paused.insert(leaver->first);
          there.erase(leaver);
        } else {
          const bool returns = !paused.empty() && rng.bernoulli(0.5);
          const TrialId id = returns ? *paused.begin() : TrialId{++next};
          paused.erase(id);
          const std::int64_t program = id.value % 4;
          const PlannedTrial trial = lane(id.value, std::to_string(program), 100 * (program + 1));
          planner.join(trial);
          there.emplace(id, trial);
        }
      }
      if (rng.bernoulli(0.05)) {  // A new process plans all trials again.
        planner = Planner(machine);
        received = {};
        for (const auto& [id, trial] : there) planner.join(trial);
      }
      const Regrouping changes = planner.changes();
      const auto read = regrouping_from_text(regrouping_text(changes));
      ASSERT_TRUE(read) << read.error().text();
      ASSERT_EQ(*read, changes);
      received.apply(*read);
      moves += named(changes);

      // The changes together are the plan.
      GroupPlan several = planner.plan();
      std::erase_if(several.groups, [](const Group& group) { return group.trials.size() == 1; });
      ASSERT_EQ(received.plan(), several) << number << ", turn " << turn;

      // Every program has the groups that its size needs.
      std::map<Digest, std::vector<std::int64_t>> sizes, wanted;
      std::set<TrialId> seen;
      for (const Group& group : planner.plan().groups) {
        const Digest program = there.at(group.trials.front()).program;
        sizes[program].push_back(std::ssize(group.trials));
        for (const TrialId trial : group.trials) {
          ASSERT_EQ(there.at(trial).program, program);
          ASSERT_TRUE(seen.insert(trial).second);
        }
      }
      ASSERT_EQ(seen.size(), there.size());
      std::map<Digest, std::vector<PlannedTrial>> programs;
      for (const auto& [id, trial] : there) programs[trial.program].push_back(trial);
      for (const auto& [program, trials] : programs) {
        const std::int64_t limit =
            std::min(max_lanes_of(trials.front(), machine), fair_share(std::ssize(there), machine.workers));
        std::int64_t groups = 1;
        while (groups * limit < std::ssize(trials)) ++groups;
        wanted[program].assign(static_cast<std::size_t>(groups), 0);
        for (std::size_t i = 0; i < trials.size(); ++i) ++wanted[program][i % static_cast<std::size_t>(groups)];
      }
      for (auto* each : {&sizes, &wanted}) {
        for (auto& [program, list] : *each) std::ranges::sort(list);
      }
      ASSERT_EQ(sizes, wanted) << number << ", turn " << turn;
    }
  }
  EXPECT_LT(moves, 4 * events) << "most trials do not move";
}

TEST(Planner, MovesFewOfAThousandTrialsAfterAChange) {
  Planner planner({.workers = 2, .lanes = 8});
  join_all(planner, 1, 1000);
  ASSERT_EQ(named(planner.changes()), 1000U);
  Rng rng(7);
  std::set<std::uint32_t> there;
  for (std::uint32_t id = 1; id <= 1000; ++id) there.insert(id);
  for (std::uint32_t id = 1001; id < 3000; ++id) {
    const bool joins = rng.bernoulli(0.5);
    if (joins) {
      planner.join(lane(id, "a"));
      there.insert(id);
    } else {
      const auto leaver = std::next(there.begin(), rng.between(0, std::ssize(there) - 1));
      planner.leave(TrialId{*leaver});
      there.erase(leaver);
    }
    // The trials of a new or closed group, and the trial that joined or left.
    ASSERT_LE(named(planner.changes()), 2U * 8U) << id;
  }
}

TEST(Grouping, ReportsOnlyItsTrialsToANewExecutor) {
  Grouping grouping;
  grouping.apply(*regrouping_from_text("3: 1 2 5, 4: 7 8"));
  const std::vector<TrialId> its{TrialId{8}, TrialId{9}, TrialId{2}};
  EXPECT_EQ(regrouping_text(grouping.regrouping_for(its)), "3: 2, 4: 8");
  EXPECT_EQ(grouping.group_of(TrialId{7}), 4);
  EXPECT_EQ(grouping.group_of(TrialId{9}), 0);
}

TEST(Grouping, HoldsAWholePlan) {
  Grouping grouping;
  grouping.apply(regrouping_of(*plan_from_text("1 4-6, 2, 3 9")));
  EXPECT_EQ(plan_text(grouping.plan()), "1 4-6, 3 9");
}

TEST(Regrouping, RefusesMalformedText) {
  for (const char* text : {" ", "1", "1:", "1: ", ": 1", "-1: 2", "1:2", "1: 2,", "1: 2, 1: 3", "2: 1, 1: 3", "1: 2, 3",
                           "1: 2, 3: 2", "1: 0", "1: 2-3", "a: 1", "1: 1-1048577", "9223372036854775808: 1", " 1: 2"}) {
    const auto changes = regrouping_from_text(text);
    ASSERT_FALSE(changes) << text;
    EXPECT_EQ(changes.error().code, Code::kDataLoss) << text;
  }
  const auto twice = regrouping_from_text("1: 5, 1: 6");
  EXPECT_EQ(twice.error().message, "a plan lists group 1 after group 1; group numbers must be ascending");
}

}  // namespace
}  // namespace lanista::plan
