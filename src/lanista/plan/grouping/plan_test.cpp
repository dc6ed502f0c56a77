#include "lanista/plan/grouping/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lanista/base/rng.h"

namespace lanista::plan {
namespace {

PlannedTrial trial(std::uint32_t id, const std::string& program, std::int64_t bytes = 0) {
  return {TrialId{id}, hash_text(program), bytes};
}

std::vector<PlannedTrial> of_one_program(std::uint32_t count, std::int64_t bytes = 0) {
  std::vector<PlannedTrial> trials;
  for (std::uint32_t id = 1; id <= count; ++id) trials.push_back(trial(id, "a", bytes));
  return trials;
}

std::string text(const GroupPlan& plan) { return plan_text(plan); }

TEST(Lanes, AreAsManyAsRequestedAndAsFit) {
  const PlannedTrial of_100_bytes = trial(1, "a", 100);
  EXPECT_EQ(max_lanes_of(of_100_bytes, {.lanes = 20}), 20);
  EXPECT_EQ(max_lanes_of(of_100_bytes, {.workers = 2, .bytes = 1000}), 5) << "each worker has half of the memory";
  EXPECT_EQ(max_lanes_of(of_100_bytes, {.bytes = 1}), 1) << "one trial is always planned";
}

TEST(Lanes, CountBestWeightsAsMemoryOnly) {
  PlannedTrial keeping = trial(1, "a", 100);
  keeping.best_weights_bytes = 100;
  EXPECT_EQ(max_lanes_of(keeping, {.workers = 2, .bytes = 1000}), 2);
  keeping.best_weights_bytes = 1'000'000'000;
  EXPECT_EQ(max_lanes_of(keeping, {}), max_lanes_of(trial(1, "a", 100), {})) << "no step touches the weights";
}

TEST(FairShare, GivesTrialsToEveryWorker) {
  EXPECT_EQ(fair_share(5, 2), 3);
  EXPECT_EQ(fair_share(5, 1), 5);
  EXPECT_EQ(fair_share(5, 8), 1);
  EXPECT_EQ(fair_share(0, 8), 1);
}

TEST(GroupPlan, TrialsOfOneProgramAreLanes) {
  const std::vector<PlannedTrial> trials{trial(4, "b"), trial(1, "b"), trial(2, "a"), trial(3, "b")};

  EXPECT_EQ(text(make_plan(trials, {})), "1 3 4, 2");
}

TEST(GroupPlan, DividesLargePopulationsEvenly) {
  EXPECT_EQ(text(make_plan(of_one_program(10), {.lanes = 4})), "1-3, 4-6, 7-10");
}

TEST(GroupPlan, GivesTrialsToEveryWorker) {
  EXPECT_EQ(text(make_plan(of_one_program(5), {.workers = 2})), "1 2, 3-5");
  EXPECT_EQ(text(make_plan(of_one_program(3), {.workers = 8})), "1, 2, 3");
}

TEST(GroupPlan, KeepsGroupsWholeIfRequested) {
  EXPECT_EQ(text(make_plan(of_one_program(5), {.workers = 8, .lanes = 8, .whole_groups = true})), "1-5");
  EXPECT_EQ(text(make_plan(of_one_program(5), {.workers = 8, .lanes = 4, .whole_groups = true})), "1 2, 3-5");
  EXPECT_EQ(max_lanes_of(trial(1, "a", 100), {.workers = 8, .lanes = 20, .bytes = 1000, .whole_groups = true}), 10);
}

TEST(GroupPlan, IsEmptyWithoutTrials) { EXPECT_EQ(make_plan({}, {}), GroupPlan{}); }

TEST(GroupPlan, KeepsItsLimitsForRandomTrials) {
  const Rng root(20261122);
  for (std::uint64_t number = 0; number < 500; ++number) {
    Rng rng = root.split(number);
    const auto sampled = [&](std::int64_t least, std::int64_t most) {
      return least + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
    };
    const Machine machine{.workers = sampled(1, 5), .lanes = sampled(0, 6), .bytes = sampled(1, 4000)};
    std::vector<PlannedTrial> trials;
    std::map<TrialId, PlannedTrial> by_id;
    for (std::uint32_t id = 1; id <= static_cast<std::uint32_t>(sampled(0, 40)); ++id) {
      const std::int64_t program = sampled(0, 4);
      trials.push_back(trial(id, std::to_string(program), 100 * (program + 1)));
      by_id[TrialId{id}] = trials.back();
    }
    const GroupPlan plan = make_plan(trials, machine);

    std::map<Digest, std::pair<std::size_t, std::size_t>> sizes;  // Smallest and largest group.
    std::size_t planned = 0;
    for (const Group& group : plan.groups) {
      const PlannedTrial& first = by_id.at(group.trials.front());
      ASSERT_LE(std::ssize(group.trials), max_lanes_of(first, machine));
      ASSERT_LE(std::ssize(group.trials), fair_share(std::ssize(trials), machine.workers));
      ASSERT_TRUE(std::ranges::is_sorted(group.trials));
      for (const TrialId id : group.trials) {
        ASSERT_EQ(by_id.at(id).program, first.program);
        ++planned;
      }
      auto& [least, most] = sizes.try_emplace(first.program, group.trials.size(), group.trials.size()).first->second;
      least = std::min(least, group.trials.size());
      most = std::max(most, group.trials.size());
    }
    ASSERT_EQ(planned, trials.size());
    for (const auto& [program, range] : sizes) ASSERT_LE(range.second - range.first, 1U);

    std::ranges::reverse(trials);
    ASSERT_EQ(make_plan(trials, machine), plan) << "the order of trials does not matter";
    const auto read = plan_from_text(plan_text(plan));
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(*read, plan);
  }
}

TEST(GroupPlan, RefusesMalformedText) {
  for (const char* text : {" ",          "0",   "1,",   "1 ",    "1, ", "1,2",          "1  2",       "-1", "1.5",
                           "4294967296", "a",   "1;2",  ", 1",   " 1",  "1\n",          "1-",         "-2", "1-2",
                           "3-1",        "1-1", "1--3", "1-3-5", "0-3", "1-4294967295", "1 2-1048577"}) {
    const auto plan = plan_from_text(text);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, Code::kDataLoss);
  }
  const auto twice = plan_from_text("1 2, 2");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "a plan lists trial 2 twice");
  EXPECT_FALSE(plan_from_text("1-5, 4"));
}

}  // namespace
}  // namespace lanista::plan
