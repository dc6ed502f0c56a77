#include "lanista/engine/local/ticket.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/rng.h"

namespace lanista::runtime {
namespace {

/// A ticket that may train one epoch; key and group are a letter's.
Ticket& add(Tickets& tickets, std::uint32_t id, const std::string& key, double start = 0, bool solo = false) {
  engine::Job job;
  job.trial = TrialId{id};
  job.logical_start = start;
  Ticket& ticket = tickets.try_emplace(job.trial, job, hash_text(key), solo).first->second;
  ticket.allowed = 1;
  ticket.group = key.front();
  return ticket;
}

std::vector<std::uint32_t> ids(const Work& work) {
  std::vector<std::uint32_t> out;
  for (const TrialId trial : work.trials) out.push_back(trial.value);
  return out;
}

using Ids = std::vector<std::uint32_t>;

TEST(NextWork, IsTheEarliestTrialWithLanesOfItsGroup) {
  Tickets tickets;
  add(tickets, 1, "b", 5);
  add(tickets, 2, "a", 3);
  add(tickets, 3, "b", 1);
  add(tickets, 4, "b", 2);

  EXPECT_EQ(ids(next_work(tickets, {.workers = 1})), (Ids{3, 4, 1}));
  EXPECT_EQ(ids(next_work(tickets, {.workers = 1, .lanes = 2})), (Ids{3, 4}));
  tickets.at(TrialId{4}).group = 1;
  EXPECT_EQ(ids(next_work(tickets, {.workers = 1})), (Ids{3, 1}));
  tickets.erase(TrialId{1});
  add(tickets, 1, "b of another program", 5);
  EXPECT_EQ(ids(next_work(tickets, {.workers = 1})), (Ids{3})) << "whatever the plan says";
}

TEST(NextWork, OfTrialsThatNoPlanNamesIsOneByOne) {
  Tickets tickets;
  add(tickets, 1, "a").group = 0;
  add(tickets, 2, "a").group = 0;

  EXPECT_EQ(ids(next_work(tickets, {})), (Ids{1}));
}

TEST(NextWork, LeavesSomeForEveryFreeWorker) {
  Tickets tickets;
  for (std::uint32_t id = 1; id <= 5; ++id) add(tickets, id, "a");

  EXPECT_EQ(ids(next_work(tickets, {.workers = 2})), (Ids{1, 2, 3}));
  EXPECT_EQ(ids(next_work(tickets, {.workers = 2, .busy = 1})), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(ids(next_work(tickets, {.workers = 8})), (Ids{1}));
  add(tickets, 6, "b");
  EXPECT_EQ(ids(next_work(tickets, {.workers = 2})), (Ids{1, 2, 3, 4, 5})) << "there is a group for the other";
}

TEST(NextWork, KeepsGroupsWholeWhereAProgramHasFewMachines) {
  Tickets tickets;
  for (std::uint32_t id = 1; id <= 6; ++id) add(tickets, id, "a");
  add(tickets, 7, "b", 1);
  const Crew crew{.workers = 32, .lanes = 8, .machines = 2};
  const auto take = [&](std::int64_t errand, const Work& work) {
    for (const TrialId trial : work.trials) {
      tickets.at(trial).running = true;
      tickets.at(trial).errand = errand;
    }
  };
  for (std::uint32_t id = 3; id <= 6; ++id) tickets.at(TrialId{id}).allowed = 0;

  const Work first = next_work(tickets, crew);
  EXPECT_EQ(ids(first), (Ids{1, 2})) << "though there is a worker for each";
  take(1, first);
  tickets.at(TrialId{3}).allowed = 1;
  const Work late = next_work(tickets, crew);
  EXPECT_EQ(ids(late), Ids{3});
  take(2, late);
  for (std::uint32_t id = 4; id <= 6; ++id) tickets.at(TrialId{id}).allowed = 1;
  EXPECT_EQ(ids(next_work(tickets, crew)), Ids{7}) << "of another program; the first has no machine left";
  tickets.at(TrialId{7}).running = true;
  EXPECT_TRUE(next_work(tickets, crew).trials.empty());
  tickets.at(TrialId{3}).progress.epochs_done = 1;
  tickets.at(TrialId{3}).running = false;
  EXPECT_EQ(ids(next_work(tickets, crew)), (Ids{4, 5, 6}));
  tickets.at(TrialId{5}).group = 0;
  tickets.at(TrialId{3}).running = true;
  EXPECT_EQ(ids(next_work(tickets, crew)), Ids{5}) << "nobody could be its company";
}

TEST(NextWork, PassesOverWhoRunsWaitsOrHasEnded) {
  Tickets tickets;
  add(tickets, 1, "a").running = true;
  add(tickets, 2, "a").allowed = 0;
  add(tickets, 3, "a").progress.is_over = true;
  add(tickets, 4, "a").signals.abandon = true;
  EXPECT_TRUE(next_work(tickets, {}).trials.empty());

  add(tickets, 5, "a");
  EXPECT_EQ(ids(next_work(tickets, {})), Ids{5});
}

TEST(NextWork, OfATrialThatEndsOrCrashedOnceHasNoCompany) {
  Tickets tickets;
  add(tickets, 1, "a", 0, true);
  add(tickets, 2, "a", 1);
  Ticket& ending = add(tickets, 3, "a", 5);
  ending.finish_asked = true;
  ending.progress.epochs_done = 1;
  add(tickets, 4, "a", 3);

  EXPECT_EQ(ids(next_work(tickets, {})), Ids{1});
  tickets.erase(TrialId{1});
  EXPECT_EQ(ids(next_work(tickets, {})), (Ids{2, 4}));
  EXPECT_EQ(next_work(tickets, {}).kind, WorkKind::kTrain);
  tickets.erase(TrialId{2});
  EXPECT_EQ(ids(next_work(tickets, {})), Ids{4});
  tickets.erase(TrialId{4});
  EXPECT_EQ(ids(next_work(tickets, {})), Ids{3});
  EXPECT_EQ(next_work(tickets, {}).kind, WorkKind::kFinish);
}

TEST(NextWork, GivesATrialThatWantsTheMemoryTheWholeMachine) {
  Tickets tickets;
  Ticket& big = add(tickets, 1, "a");
  big.signals.wants_to_be_alone = true;
  add(tickets, 2, "a", 1);

  EXPECT_EQ(ids(next_work(tickets, {.workers = 2})), Ids{1});
  EXPECT_EQ(ids(next_work(tickets, {.workers = 2, .busy = 1})), Ids{2});
  big.running = true;
  EXPECT_TRUE(next_work(tickets, {.workers = 2, .busy = 1}).trials.empty());
}

TEST(NextWork, SaysHowATrialEnds) {
  Tickets tickets;
  Ticket& ticket = add(tickets, 1, "a");
  ticket.progress.epochs_done = 1;
  ticket.park_asked = true;
  EXPECT_EQ(next_work(tickets, {}).kind, WorkKind::kFinish);
  EXPECT_TRUE(next_work(tickets, {}).ending.parks);
  EXPECT_FALSE(next_work(tickets, {}).ending.keep_weights);

  ticket.finish_asked = true;
  ticket.keep_weights = true;
  EXPECT_FALSE(next_work(tickets, {}).ending.parks) << "an end is no rest";
  EXPECT_TRUE(next_work(tickets, {}).ending.keep_weights);

  ticket.allowed = 2;
  EXPECT_EQ(next_work(tickets, {}).kind, WorkKind::kTrain) << "first it trains as far as it may";
}

TEST(NextWork, OfAPauseIsToSaveWhatIsNotSaved) {
  Tickets tickets;
  add(tickets, 1, "a");
  add(tickets, 2, "a", 1).progress.is_unsaved = true;
  add(tickets, 3, "a", 2).progress = {.epochs_done = 1, .is_over = true, .is_unsaved = true};

  const Work work = next_work(tickets, {.pausing = true});

  EXPECT_EQ(work.kind, WorkKind::kSave);
  EXPECT_EQ(ids(work), Ids{2});
  tickets.at(TrialId{2}).running = true;
  EXPECT_TRUE(next_work(tickets, {.pausing = true}).trials.empty());
}

/// The rule, read aloud once more: whom a free worker may begin with, and whom it may take along.
bool may_begin(const Tickets& tickets, const Ticket& it, const Crew& crew) {
  for (const auto& [id, other] : tickets) {
    if (other.running && other.signals.wants_to_be_alone) return false;
  }
  if (it.running || it.progress.is_over || it.signals.abandon) return false;
  if (it.signals.wants_to_be_alone && crew.busy > 0) return false;
  if (crew.pausing) return it.progress.is_unsaved;
  return it.progress.epochs_done < it.allowed || it.finish_asked || it.park_asked;
}

TEST(NextWork, OfDrawnTicketsIsWhatTheRuleSays) {
  const Rng root(17);
  int alone = 0, together = 0, nothing = 0, ends = 0;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    Rng rng = root.split(number);
    Tickets tickets;
    const auto count = static_cast<std::uint32_t>(rng.below(9));
    for (std::uint32_t id = 1; id <= count; ++id) {
      engine::Job job;
      job.trial = TrialId{id};
      job.logical_start = static_cast<double>(rng.below(4));
      job.priority = static_cast<double>(rng.below(2));
      Ticket& it =
          tickets.try_emplace(job.trial, job, hash_text(rng.bernoulli(0.7) ? "one" : "other"), rng.bernoulli(0.1))
              .first->second;
      it.group = rng.bernoulli(0.8) ? 1 : 0;
      it.allowed = rng.between(0, 3);
      it.progress = {rng.between(0, it.allowed), rng.bernoulli(0.1), rng.bernoulli(0.5), false};
      it.finish_asked = rng.bernoulli(0.2);
      it.park_asked = rng.bernoulli(0.2);
      it.running = rng.bernoulli(0.2);
      it.signals.abandon = rng.bernoulli(0.1);
      it.signals.wants_to_be_alone = rng.bernoulli(0.05);
    }
    const Crew crew{.workers = rng.between(1, 3),
                    .busy = rng.between(0, 1),
                    .lanes = rng.between(1, 4),
                    .pausing = rng.bernoulli(0.1)};

    const Work work = next_work(tickets, crew);

    const Ticket* first = nullptr;
    for (const auto& [id, it] : tickets) {
      if (!may_begin(tickets, it, crew)) continue;
      const bool earlier = first == nullptr || it.priority > first->priority ||
                           (it.priority == first->priority && it.next_time() < first->next_time());
      if (earlier) first = &it;
    }
    ASSERT_EQ(work.trials.empty(), first == nullptr) << number;
    nothing += first == nullptr ? 1 : 0;
    if (first == nullptr) continue;
    ASSERT_EQ(work.trials.front(), first->trial) << number;
    ASSERT_LE(std::ssize(work.trials), crew.lanes) << number;
    const bool trains = first->progress.epochs_done < first->allowed;
    ASSERT_EQ(work.kind, crew.pausing ? WorkKind::kSave : trains ? WorkKind::kTrain : WorkKind::kFinish) << number;
    ends += work.kind == WorkKind::kFinish ? 1 : 0;
    (work.trials.size() > 1 ? together : alone) += 1;
    for (std::size_t i = 1; i < work.trials.size(); ++i) {
      const Ticket& lane = tickets.at(work.trials[i]);
      ASSERT_TRUE(may_begin(tickets, lane, crew)) << number;
      ASSERT_EQ(lane.group, first->group) << number;
      ASSERT_NE(lane.group, 0) << number;
      ASSERT_EQ(lane.key, first->key) << number;
      ASSERT_FALSE(lane.solo || first->solo) << number;
      ASSERT_FALSE(lane.signals.wants_to_be_alone || first->signals.wants_to_be_alone) << number;
      ASSERT_LT(lane.progress.epochs_done, lane.allowed) << number;
    }
  }
  EXPECT_GT(alone, 500);
  EXPECT_GT(together, 100);
  EXPECT_GT(nothing, 300);
  EXPECT_GT(ends, 100);
}

}  // namespace
}  // namespace lanista::runtime
