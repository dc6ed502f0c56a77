#include "lanista/engine/local/trial_dispatcher.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::runtime {
namespace {

std::unique_ptr<TrialSlot> slot_of(std::uint32_t id, std::int64_t epochs_done = 0) {
  auto slot = std::make_unique<TrialSlot>();
  slot->job.trial = TrialId{id};
  slot->epochs_done = epochs_done;
  return slot;
}

TEST(TrialDispatcher, DispatchesWorkUntilItIsClosed) {
  TrialDispatcher dispatcher(4);
  dispatcher.add_trial(slot_of(1), false, {});
  dispatcher.command(engine::Allow{TrialId{1}, 2});
  dispatcher.open(2);

  auto item = dispatcher.take();

  ASSERT_TRUE(item);
  ASSERT_EQ(item->slots.size(), 1U);
  EXPECT_EQ(item->slots.front()->job.trial, TrialId{1});
  EXPECT_FALSE(item->slots.front()->signals->abandon);
  item->slots.front()->epochs_done = 2;
  dispatcher.return_item(*std::move(item));
  dispatcher.command(engine::PauseTrial{TrialId{1}});
  item = dispatcher.take();
  ASSERT_TRUE(item);
  EXPECT_EQ(item->work.kind, WorkKind::kFinish);
  EXPECT_TRUE(item->work.end_request.pauses_trial);
  dispatcher.close();
  EXPECT_TRUE(item->slots.front()->signals->abandon);
  EXPECT_FALSE(dispatcher.take());
  dispatcher.return_item(*std::move(item));
}

TEST(TrialDispatcher, DropsUnreadReportsOfATrialThatReturns) {
  TrialDispatcher dispatcher(4);
  const auto measured = [](std::uint32_t id, std::int64_t epoch) {
    return study::Measurement{TrialId{id}, epoch, epoch, {}};
  };
  dispatcher.add_trial(slot_of(1), false, {});
  dispatcher.post(engine::EpochReport{measured(1, 1)});
  dispatcher.post(engine::EpochReport{measured(2, 7)});
  dispatcher.post(engine::FailureReport{TrialId{1}, 2, "threw"});

  dispatcher.add_trial(slot_of(1, 1), false, {measured(1, 1)});

  std::vector<std::pair<std::uint32_t, std::int64_t>> reported;
  while (const auto report = dispatcher.next(0)) {
    const auto* epoch = std::get_if<engine::EpochReport>(&*report);
    ASSERT_NE(epoch, nullptr);
    reported.emplace_back(epoch->measurement.trial.value, epoch->measurement.epoch);
  }
  EXPECT_EQ(reported, (std::vector<std::pair<std::uint32_t, std::int64_t>>{{2, 7}, {1, 1}}));
}

TEST(TrialDispatcher, KeepsItsFirstFailure) {
  TrialDispatcher dispatcher(4);
  dispatcher.post(engine::AllPausedReport{});
  dispatcher.fail_all(Code::kResourceExhausted, "out of memory");
  dispatcher.fail_all(Code::kInternal, "another");
  dispatcher.add_trial(slot_of(1), false, {});

  for (int time = 0; time < 3; ++time) {
    const auto report = dispatcher.next(0);
    ASSERT_TRUE(report && std::holds_alternative<engine::ExecutorErrorReport>(*report));
    EXPECT_EQ(std::get<engine::ExecutorErrorReport>(*report).error.code, Code::kResourceExhausted);
  }
}

// Workers that train nothing, and an engine with random commands at random times. No two workers ever hold one trial,
// and every trial reports its epochs once, in order, and one end.
TEST(TrialDispatcher, GivesEveryTrialToOneWorkerAtATime) {
  constexpr std::uint32_t kTrials = 60;
  constexpr std::int64_t kEpochs = 5;
  // Summed over all seeds, because the number depends on the cores of both workers.
  std::atomic<int> together = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Rng rng = Rng(seed).split("board");
    TrialDispatcher dispatcher(3);
    std::array<std::atomic<bool>, kTrials + 1> is_held{};
    std::atomic<int> held_twice = 0;
    const auto worker = [&] {
      while (auto item = dispatcher.take()) {
        for (const auto& slot : item->slots) held_twice += is_held[slot->job.trial.value].exchange(true) ? 1 : 0;
        together += item->slots.size() > 1 ? 1 : 0;
        for (const auto& slot : item->slots) {
          const TrialId trial = slot->job.trial;
          if (slot->signals->abandon) continue;
          if (item->work.kind == WorkKind::kTrain) {
            ++slot->epochs_done;
            dispatcher.post(engine::EpochReport{{trial, slot->epochs_done, slot->epochs_done, {}}});
          } else {
            slot->finished = true;
            if (item->work.end_request.pauses_trial) {
              dispatcher.post(engine::TrialPausedReport{trial, slot->epochs_done, 0, {}, ""});
            } else {
              dispatcher.post(engine::FinishedReport{trial, {}, ""});
            }
          }
        }
        for (const auto& slot : item->slots) is_held[slot->job.trial.value] = false;
        dispatcher.return_item(*std::move(item));
      }
    };
    std::vector<std::jthread> workers;
    for (int i = 0; i < 2; ++i) workers.emplace_back(worker);
    dispatcher.open(2);

    std::map<TrialId, std::int64_t> allowed, reported;  // of the open ones
    std::set<TrialId> pausing, ending;
    std::uint32_t next = 0, ended = 0, rested = 0;
    while (ended < kTrials) {
      if (next < kTrials && allowed.size() < 8) {
        dispatcher.add_trial(slot_of(++next), rng.bernoulli(0.1), {});
        allowed[TrialId{next}] = 0;
      }
      if (rng.bernoulli(0.3)) {
        engine::UpdateGroups arrange;  // all may begin at once
        for (auto& [id, epochs] : allowed) {
          auto& parts = arrange.changes.parts;
          if (parts.empty() || rng.bernoulli(0.1)) parts.push_back({std::ssize(parts), {}});
          parts.back().trials.push_back(id);
          const bool continues = epochs < kEpochs && !pausing.contains(id) && !ending.contains(id);
          if (continues) arrange.allow.push_back({id, ++epochs});
        }
        dispatcher.command(arrange);
      }
      std::vector<TrialId> gone;
      for (auto& [id, epochs] : allowed) {
        if (pausing.contains(id) || ending.contains(id) || !rng.bernoulli(0.3)) continue;
        if (epochs < kEpochs) {
          dispatcher.command(engine::Allow{id, ++epochs});
        } else if (reported[id] == kEpochs) {
          dispatcher.command(engine::Finish{id, false, false});
          ending.insert(id);
        }
        if (epochs > 0 && epochs < kEpochs && rng.bernoulli(0.1)) {
          dispatcher.command(engine::PauseTrial{id});
          pausing.insert(id);
        } else if (rng.bernoulli(0.03)) {
          dispatcher.command(engine::Finish{id, false, true});
          gone.push_back(id);
        }
      }
      for (const TrialId id : gone) {
        allowed.erase(id);
        pausing.erase(id);
        ending.erase(id);
        ++ended;
      }
      while (const auto report = dispatcher.next(0.0005)) {
        if (const auto* epoch = std::get_if<engine::EpochReport>(&*report)) {
          const study::Measurement& m = epoch->measurement;
          if (!allowed.contains(m.trial)) continue;
          ASSERT_EQ(m.epoch, ++reported[m.trial]) << "of trial " << m.trial.value;
          ASSERT_LE(m.epoch, allowed.at(m.trial));
        } else if (const auto* end = std::get_if<engine::FinishedReport>(&*report)) {
          if (!allowed.contains(end->trial)) continue;
          ASSERT_TRUE(ending.erase(end->trial) == 1);
          ASSERT_EQ(reported[end->trial], kEpochs);
          allowed.erase(end->trial);
          ++ended;
        } else if (const auto* rest = std::get_if<engine::TrialPausedReport>(&*report)) {
          if (!allowed.contains(rest->trial)) continue;
          ASSERT_TRUE(pausing.erase(rest->trial) == 1);
          ASSERT_EQ(rest->epoch, allowed.at(rest->trial));
          ASSERT_EQ(rest->epoch, reported[rest->trial]);
          dispatcher.add_trial(slot_of(rest->trial.value, rest->epoch), false, {});
          dispatcher.command(engine::Allow{rest->trial, rest->epoch});
          ++rested;
        }
      }
    }
    dispatcher.close();
    workers.clear();
    EXPECT_EQ(held_twice, 0);
    EXPECT_GT(rested, 3U);
  }
  EXPECT_GT(together, 50);
}

}  // namespace
}  // namespace lanista::runtime
