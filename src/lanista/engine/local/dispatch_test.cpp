#include "lanista/engine/local/dispatch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/rng.h"

namespace lanista::runtime {
namespace {

/// An entry that may train one epoch; a letter gives its key and group.
DispatchEntry& add(DispatchEntries& entries, std::uint32_t id, const std::string& key, double start = 0,
                   bool runs_alone = false) {
  engine::Job job;
  job.trial = TrialId{id};
  job.logical_start = start;
  DispatchEntry& entry = entries.try_emplace(job.trial, job, hash_text(key), runs_alone).first->second;
  entry.allowed_epochs = 1;
  entry.group = key.front();
  return entry;
}

std::vector<std::uint32_t> ids(const Work& work) {
  std::vector<std::uint32_t> out;
  for (const TrialId trial : work.trials) out.push_back(trial.value);
  return out;
}

using Ids = std::vector<std::uint32_t>;

TEST(NextWork, IsTheEarliestTrialWithLanesOfItsGroup) {
  DispatchEntries entries;
  add(entries, 1, "b", 5);
  add(entries, 2, "a", 3);
  add(entries, 3, "b", 1);
  add(entries, 4, "b", 2);

  EXPECT_EQ(ids(next_work(entries, {.workers = 1})), (Ids{3, 4, 1}));
  EXPECT_EQ(ids(next_work(entries, {.workers = 1, .lanes = 2})), (Ids{3, 4}));
  entries.at(TrialId{4}).group = 1;
  EXPECT_EQ(ids(next_work(entries, {.workers = 1})), (Ids{3, 1}));
  entries.erase(TrialId{1});
  add(entries, 1, "b of another program", 5);
  EXPECT_EQ(ids(next_work(entries, {.workers = 1})), (Ids{3})) << "independent of the plan";
}

TEST(NextWork, RunsTrialsWithoutAGroupOneByOne) {
  DispatchEntries entries;
  add(entries, 1, "a").group = 0;
  add(entries, 2, "a").group = 0;

  EXPECT_EQ(ids(next_work(entries, {})), (Ids{1}));
}

TEST(NextWork, LeavesSomeForEveryFreeWorker) {
  DispatchEntries entries;
  for (std::uint32_t id = 1; id <= 5; ++id) add(entries, id, "a");

  EXPECT_EQ(ids(next_work(entries, {.workers = 2})), (Ids{1, 2, 3}));
  EXPECT_EQ(ids(next_work(entries, {.workers = 2, .busy = 1})), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(ids(next_work(entries, {.workers = 8})), (Ids{1}));
  add(entries, 6, "b");
  EXPECT_EQ(ids(next_work(entries, {.workers = 2})), (Ids{1, 2, 3, 4, 5})) << "there is a group for the other";
}

TEST(NextWork, KeepsGroupsWholeIfAProgramHasFewExecutables) {
  DispatchEntries entries;
  for (std::uint32_t id = 1; id <= 6; ++id) add(entries, id, "a");
  add(entries, 7, "b", 1);
  const DispatchCapacity capacity{.workers = 32, .lanes = 8, .max_executables = 2};
  const auto take = [&](std::int64_t work_item_id, const Work& work) {
    for (const TrialId trial : work.trials) {
      entries.at(trial).running = true;
      entries.at(trial).work_item_id = work_item_id;
    }
  };
  for (std::uint32_t id = 3; id <= 6; ++id) entries.at(TrialId{id}).allowed_epochs = 0;

  const Work first = next_work(entries, capacity);
  EXPECT_EQ(ids(first), (Ids{1, 2})) << "though there is a worker for each";
  take(1, first);
  entries.at(TrialId{3}).allowed_epochs = 1;
  const Work late = next_work(entries, capacity);
  EXPECT_EQ(ids(late), Ids{3});
  take(2, late);
  for (std::uint32_t id = 4; id <= 6; ++id) entries.at(TrialId{id}).allowed_epochs = 1;
  EXPECT_EQ(ids(next_work(entries, capacity)), Ids{7}) << "of another program; all copies of the first are in use";
  entries.at(TrialId{7}).running = true;
  EXPECT_TRUE(next_work(entries, capacity).trials.empty());
  entries.at(TrialId{3}).progress.epochs_done = 1;
  entries.at(TrialId{3}).running = false;
  EXPECT_EQ(ids(next_work(entries, capacity)), (Ids{4, 5, 6}));
  entries.at(TrialId{5}).group = 0;
  entries.at(TrialId{3}).running = true;
  EXPECT_EQ(ids(next_work(entries, capacity)), Ids{5}) << "no trial could share its steps";
}

TEST(NextWork, SkipsTrialsThatRunWaitOrHaveEnded) {
  DispatchEntries entries;
  add(entries, 1, "a").running = true;
  add(entries, 2, "a").allowed_epochs = 0;
  add(entries, 3, "a").progress.is_over = true;
  add(entries, 4, "a").signals.abandon = true;
  EXPECT_TRUE(next_work(entries, {}).trials.empty());

  add(entries, 5, "a");
  EXPECT_EQ(ids(next_work(entries, {})), Ids{5});
}

TEST(NextWork, RunsATrialThatEndsOrCrashedOnceAlone) {
  DispatchEntries entries;
  add(entries, 1, "a", 0, true);
  add(entries, 2, "a", 1);
  DispatchEntry& end_request = add(entries, 3, "a", 5);
  end_request.finish_requested = true;
  end_request.progress.epochs_done = 1;
  add(entries, 4, "a", 3);

  EXPECT_EQ(ids(next_work(entries, {})), Ids{1});
  entries.erase(TrialId{1});
  EXPECT_EQ(ids(next_work(entries, {})), (Ids{2, 4}));
  EXPECT_EQ(next_work(entries, {}).kind, WorkKind::kTrain);
  entries.erase(TrialId{2});
  EXPECT_EQ(ids(next_work(entries, {})), Ids{4});
  entries.erase(TrialId{4});
  EXPECT_EQ(ids(next_work(entries, {})), Ids{3});
  EXPECT_EQ(next_work(entries, {}).kind, WorkKind::kFinish);
}

TEST(NextWork, RunsATrialThatNeedsAllMemoryAlone) {
  DispatchEntries entries;
  DispatchEntry& big = add(entries, 1, "a");
  big.signals.needs_exclusive_memory = true;
  add(entries, 2, "a", 1);

  EXPECT_EQ(ids(next_work(entries, {.workers = 2})), Ids{1});
  EXPECT_EQ(ids(next_work(entries, {.workers = 2, .busy = 1})), Ids{2});
  big.running = true;
  EXPECT_TRUE(next_work(entries, {.workers = 2, .busy = 1}).trials.empty());
}

TEST(NextWork, ReportsHowATrialEnds) {
  DispatchEntries entries;
  DispatchEntry& entry = add(entries, 1, "a");
  entry.progress.epochs_done = 1;
  entry.pause_requested = true;
  EXPECT_EQ(next_work(entries, {}).kind, WorkKind::kFinish);
  EXPECT_TRUE(next_work(entries, {}).end_request.pauses_trial);
  EXPECT_FALSE(next_work(entries, {}).end_request.keep_weights);

  entry.finish_requested = true;
  entry.keep_weights = true;
  EXPECT_FALSE(next_work(entries, {}).end_request.pauses_trial) << "an end is no rest";
  EXPECT_TRUE(next_work(entries, {}).end_request.keep_weights);

  entry.allowed_epochs = 2;
  EXPECT_EQ(next_work(entries, {}).kind, WorkKind::kTrain) << "first it trains as far as it may";
}

TEST(NextWork, SavesUnsavedTrialsDuringAPause) {
  DispatchEntries entries;
  add(entries, 1, "a");
  add(entries, 2, "a", 1).progress.is_unsaved = true;
  add(entries, 3, "a", 2).progress = {.epochs_done = 1, .is_over = true, .is_unsaved = true};

  const Work work = next_work(entries, {.pausing = true});

  EXPECT_EQ(work.kind, WorkKind::kSave);
  EXPECT_EQ(ids(work), Ids{2});
  entries.at(TrialId{2}).running = true;
  EXPECT_TRUE(next_work(entries, {.pausing = true}).trials.empty());
}

/// The rule again, written directly: which trial a free worker may take first, and which others with it.
bool may_begin(const DispatchEntries& entries, const DispatchEntry& it, const DispatchCapacity& capacity) {
  for (const auto& [id, other] : entries) {
    if (other.running && other.signals.needs_exclusive_memory) return false;
  }
  if (it.running || it.progress.is_over || it.signals.abandon) return false;
  if (it.signals.needs_exclusive_memory && capacity.busy > 0) return false;
  if (capacity.pausing) return it.progress.is_unsaved;
  return it.progress.epochs_done < it.allowed_epochs || it.finish_requested || it.pause_requested;
}

TEST(NextWork, MatchesTheRuleForRandomEntries) {
  const Rng root(17);
  int alone = 0, together = 0, nothing = 0, ends = 0;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    Rng rng = root.split(number);
    DispatchEntries entries;
    const auto count = static_cast<std::uint32_t>(rng.below(9));
    for (std::uint32_t id = 1; id <= count; ++id) {
      engine::Job job;
      job.trial = TrialId{id};
      job.logical_start = static_cast<double>(rng.below(4));
      job.priority = static_cast<double>(rng.below(2));
      DispatchEntry& it =
          entries.try_emplace(job.trial, job, hash_text(rng.bernoulli(0.7) ? "one" : "other"), rng.bernoulli(0.1))
              .first->second;
      it.group = rng.bernoulli(0.8) ? 1 : 0;
      it.allowed_epochs = rng.between(0, 3);
      it.progress = {rng.between(0, it.allowed_epochs), rng.bernoulli(0.1), rng.bernoulli(0.5), false};
      it.finish_requested = rng.bernoulli(0.2);
      it.pause_requested = rng.bernoulli(0.2);
      it.running = rng.bernoulli(0.2);
      it.signals.abandon = rng.bernoulli(0.1);
      it.signals.needs_exclusive_memory = rng.bernoulli(0.05);
    }
    const DispatchCapacity capacity{.workers = rng.between(1, 3),
                                    .busy = rng.between(0, 1),
                                    .lanes = rng.between(1, 4),
                                    .pausing = rng.bernoulli(0.1)};

    const Work work = next_work(entries, capacity);

    const DispatchEntry* first = nullptr;
    for (const auto& [id, it] : entries) {
      if (!may_begin(entries, it, capacity)) continue;
      const bool earlier = first == nullptr || it.priority > first->priority ||
                           (it.priority == first->priority && it.next_logical_time() < first->next_logical_time());
      if (earlier) first = &it;
    }
    ASSERT_EQ(work.trials.empty(), first == nullptr) << number;
    nothing += first == nullptr ? 1 : 0;
    if (first == nullptr) continue;
    ASSERT_EQ(work.trials.front(), first->trial) << number;
    ASSERT_LE(std::ssize(work.trials), capacity.lanes) << number;
    const bool trains = first->progress.epochs_done < first->allowed_epochs;
    ASSERT_EQ(work.kind, capacity.pausing ? WorkKind::kSave : trains ? WorkKind::kTrain : WorkKind::kFinish) << number;
    ends += work.kind == WorkKind::kFinish ? 1 : 0;
    (work.trials.size() > 1 ? together : alone) += 1;
    for (std::size_t i = 1; i < work.trials.size(); ++i) {
      const DispatchEntry& lane = entries.at(work.trials[i]);
      ASSERT_TRUE(may_begin(entries, lane, capacity)) << number;
      ASSERT_EQ(lane.group, first->group) << number;
      ASSERT_NE(lane.group, 0) << number;
      ASSERT_EQ(lane.key, first->key) << number;
      ASSERT_FALSE(lane.runs_alone || first->runs_alone) << number;
      ASSERT_FALSE(lane.signals.needs_exclusive_memory || first->signals.needs_exclusive_memory) << number;
      ASSERT_LT(lane.progress.epochs_done, lane.allowed_epochs) << number;
    }
  }
  EXPECT_GT(alone, 500);
  EXPECT_GT(together, 100);
  EXPECT_GT(nothing, 300);
  EXPECT_GT(ends, 100);
}

}  // namespace
}  // namespace lanista::runtime
