#include "lanista/runtime/trial_slot.h"

#include <gtest/gtest.h>

namespace lanista::runtime {
namespace {

/// A slot that may train one epoch; its key is a letter's.
TrialSlot& add(TrialSlots& slots, std::uint32_t id, const std::string& key, double start = 0) {
  auto slot = std::make_unique<TrialSlot>();
  slot->job.trial = TrialId{id};
  slot->job.logical_start = start;
  slot->key = hash_text(key);
  slot->allowed = 1;
  slot->most_lanes = 8;
  return *(slots[TrialId{id}] = std::move(slot));
}

std::vector<std::uint32_t> ids(const Work& work) {
  std::vector<std::uint32_t> out;
  for (const TrialSlot* slot : work.slots) out.push_back(slot->job.trial.value);
  return out;
}

using Ids = std::vector<std::uint32_t>;

TEST(NextWork, IsTheEarliestTrialWithLanesOfItsKey) {
  TrialSlots slots;
  add(slots, 1, "b", 5);
  add(slots, 2, "a", 3);
  add(slots, 3, "b", 1);
  add(slots, 4, "b", 2);

  EXPECT_EQ(ids(next_work(slots, {.workers = 1})), (Ids{3, 4, 1}));
  slots[TrialId{3}]->most_lanes = 2;
  EXPECT_EQ(ids(next_work(slots, {.workers = 1})), (Ids{3, 4}));
  slots[TrialId{3}]->most_lanes = 1;
  EXPECT_EQ(ids(next_work(slots, {.workers = 1})), (Ids{3}));
}

TEST(NextWork, HasNoMoreLanesThanTheSecondCacheHolds) {
  EXPECT_EQ(lanes_that_pay(0), kDefaultLanes);
  EXPECT_EQ(lanes_that_pay(100'000), kDefaultLanes);
  EXPECT_EQ(lanes_that_pay(300'000), 3);
  EXPECT_EQ(lanes_that_pay(5'000'000), 1);
}

TEST(NextWork, LeavesSomeForEveryFreeWorker) {
  TrialSlots slots;
  for (std::uint32_t id = 1; id <= 5; ++id) add(slots, id, "a");

  EXPECT_EQ(ids(next_work(slots, {.workers = 2})), (Ids{1, 2, 3}));
  EXPECT_EQ(ids(next_work(slots, {.workers = 2, .busy = 1})), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(ids(next_work(slots, {.workers = 8})), (Ids{1}));
}

TEST(NextWork, PassesOverWhoRunsWaitsOrHasEnded) {
  TrialSlots slots;
  add(slots, 1, "a").running = true;
  add(slots, 2, "a").allowed = 0;
  add(slots, 3, "a").finished = true;
  add(slots, 4, "a").abandon = true;
  EXPECT_TRUE(next_work(slots, {}).slots.empty());

  add(slots, 5, "a");
  EXPECT_EQ(ids(next_work(slots, {})), Ids{5});
}

TEST(NextWork, OfATrialThatEndsOrCrashedOnceHasNoCompany) {
  TrialSlots slots;
  add(slots, 1, "a").solo = true;
  add(slots, 2, "a", 1);
  TrialSlot& ending = add(slots, 3, "a", 5);
  ending.finish_asked = true;
  ending.epochs_done = 1;
  add(slots, 4, "a", 3);

  EXPECT_EQ(ids(next_work(slots, {})), Ids{1});
  slots.erase(TrialId{1});
  EXPECT_EQ(ids(next_work(slots, {})), (Ids{2, 4}));
  EXPECT_EQ(next_work(slots, {}).kind, WorkKind::kTrain);
  slots.erase(TrialId{2});
  EXPECT_EQ(ids(next_work(slots, {})), Ids{4});
  slots.erase(TrialId{4});
  EXPECT_EQ(ids(next_work(slots, {})), Ids{3});
  EXPECT_EQ(next_work(slots, {}).kind, WorkKind::kFinish);
}

TEST(NextWork, GivesATrialThatWantsTheMemoryTheWholeMachine) {
  TrialSlots slots;
  TrialSlot& big = add(slots, 1, "a");
  big.wants_to_be_alone = true;
  add(slots, 2, "a", 1);

  EXPECT_EQ(ids(next_work(slots, {.workers = 2})), Ids{1});
  EXPECT_EQ(ids(next_work(slots, {.workers = 2, .busy = 1})), Ids{2});
  big.running = true;
  EXPECT_TRUE(next_work(slots, {.workers = 2, .busy = 1}).slots.empty());
}

}  // namespace
}  // namespace lanista::runtime
