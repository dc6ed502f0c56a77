#include "lanista/engine/local/trial_board.h"

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

TEST(TrialBoard, HandsOutWhatIsThereUntilItIsClosed) {
  TrialBoard board(4);
  board.place(slot_of(1), false, {});
  board.command(engine::Allow{TrialId{1}, 2});
  board.open(2);

  auto errand = board.take();

  ASSERT_TRUE(errand);
  ASSERT_EQ(errand->slots.size(), 1U);
  EXPECT_EQ(errand->slots.front()->job.trial, TrialId{1});
  EXPECT_FALSE(errand->slots.front()->signals->abandon);
  errand->slots.front()->epochs_done = 2;
  board.give_back(*std::move(errand));
  board.command(engine::Park{TrialId{1}});
  errand = board.take();
  ASSERT_TRUE(errand);
  EXPECT_EQ(errand->work.kind, WorkKind::kFinish);
  EXPECT_TRUE(errand->work.ending.parks);
  board.close();
  EXPECT_TRUE(errand->slots.front()->signals->abandon);
  EXPECT_FALSE(board.take());
  board.give_back(*std::move(errand));
}

TEST(TrialBoard, ForgetsWhatWasNotHeardOfATrialThatComesBack) {
  TrialBoard board(4);
  const auto measured = [](std::uint32_t id, std::int64_t epoch) {
    return study::Measurement{TrialId{id}, epoch, epoch, {}};
  };
  board.place(slot_of(1), false, {});
  board.post(engine::EpochReport{measured(1, 1)});
  board.post(engine::EpochReport{measured(2, 7)});
  board.post(engine::FailureReport{TrialId{1}, 2, "threw"});

  board.place(slot_of(1, 1), false, {measured(1, 1)});

  std::vector<std::pair<std::uint32_t, std::int64_t>> told;
  while (const auto report = board.next(0)) {
    const auto* epoch = std::get_if<engine::EpochReport>(&*report);
    ASSERT_NE(epoch, nullptr);
    told.emplace_back(epoch->measurement.trial.value, epoch->measurement.epoch);
  }
  EXPECT_EQ(told, (std::vector<std::pair<std::uint32_t, std::int64_t>>{{2, 7}, {1, 1}}));
}

TEST(TrialBoard, IsBrokenForGoodByTheFirstWord) {
  TrialBoard board(4);
  board.post(engine::PausedReport{});
  board.break_down(Code::kResourceExhausted, "out of memory");
  board.break_down(Code::kInternal, "another");
  board.place(slot_of(1), false, {});

  for (int time = 0; time < 3; ++time) {
    const auto report = board.next(0);
    ASSERT_TRUE(report && std::holds_alternative<engine::BrokenReport>(*report));
    EXPECT_EQ(std::get<engine::BrokenReport>(*report).error.code, Code::kResourceExhausted);
  }
}

// Workers that train nothing, and an engine that asks for anything at any moment: nobody ever holds a trial that
// another holds, and every trial tells its epochs once, in order, and one end.
TEST(TrialBoard, GivesEveryTrialToOneAtATime) {
  constexpr std::uint32_t kTrials = 60;
  constexpr std::int64_t kEpochs = 5;
  // Of all seeds: how often depends on whether both workers have a core.
  std::atomic<int> together = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Rng rng = Rng(seed).split("board");
    TrialBoard board(3);
    std::array<std::atomic<bool>, kTrials + 1> in_hand{};
    std::atomic<int> held_twice = 0;
    const auto worker = [&] {
      while (auto errand = board.take()) {
        for (const auto& slot : errand->slots) held_twice += in_hand[slot->job.trial.value].exchange(true) ? 1 : 0;
        together += errand->slots.size() > 1 ? 1 : 0;
        for (const auto& slot : errand->slots) {
          const TrialId trial = slot->job.trial;
          if (slot->signals->abandon) continue;
          if (errand->work.kind == WorkKind::kTrain) {
            ++slot->epochs_done;
            board.post(engine::EpochReport{{trial, slot->epochs_done, slot->epochs_done, {}}});
          } else {
            slot->finished = true;
            if (errand->work.ending.parks) {
              board.post(engine::ParkedReport{trial, slot->epochs_done, 0, {}, ""});
            } else {
              board.post(engine::FinishedReport{trial, {}, ""});
            }
          }
        }
        for (const auto& slot : errand->slots) in_hand[slot->job.trial.value] = false;
        board.give_back(*std::move(errand));
      }
    };
    std::vector<std::jthread> workers;
    for (int i = 0; i < 2; ++i) workers.emplace_back(worker);
    board.open(2);

    std::map<TrialId, std::int64_t> allowed, told;  // of the open ones
    std::set<TrialId> parking, ending;
    std::uint32_t next = 0, ended = 0, rested = 0;
    while (ended < kTrials) {
      if (next < kTrials && allowed.size() < 8) {
        board.place(slot_of(++next), rng.bernoulli(0.1), {});
        allowed[TrialId{next}] = 0;
      }
      if (rng.bernoulli(0.3)) {
        engine::Arrange arrange;  // all may begin at once
        for (auto& [id, epochs] : allowed) {
          auto& parts = arrange.changes.parts;
          if (parts.empty() || rng.bernoulli(0.1)) parts.push_back({std::ssize(parts), {}});
          parts.back().trials.push_back(id);
          const bool goes_on = epochs < kEpochs && !parking.contains(id) && !ending.contains(id);
          if (goes_on) arrange.allow.push_back({id, ++epochs});
        }
        board.command(arrange);
      }
      std::vector<TrialId> gone;
      for (auto& [id, epochs] : allowed) {
        if (parking.contains(id) || ending.contains(id) || !rng.bernoulli(0.3)) continue;
        if (epochs < kEpochs) {
          board.command(engine::Allow{id, ++epochs});
        } else if (told[id] == kEpochs) {
          board.command(engine::Finish{id, false, false});
          ending.insert(id);
        }
        if (epochs > 0 && epochs < kEpochs && rng.bernoulli(0.1)) {
          board.command(engine::Park{id});
          parking.insert(id);
        } else if (rng.bernoulli(0.03)) {
          board.command(engine::Finish{id, false, true});
          gone.push_back(id);
        }
      }
      for (const TrialId id : gone) {
        allowed.erase(id);
        parking.erase(id);
        ending.erase(id);
        ++ended;
      }
      while (const auto report = board.next(0.0005)) {
        if (const auto* epoch = std::get_if<engine::EpochReport>(&*report)) {
          const study::Measurement& m = epoch->measurement;
          if (!allowed.contains(m.trial)) continue;
          ASSERT_EQ(m.epoch, ++told[m.trial]) << "of trial " << m.trial.value;
          ASSERT_LE(m.epoch, allowed.at(m.trial));
        } else if (const auto* end = std::get_if<engine::FinishedReport>(&*report)) {
          if (!allowed.contains(end->trial)) continue;
          ASSERT_TRUE(ending.erase(end->trial) == 1);
          ASSERT_EQ(told[end->trial], kEpochs);
          allowed.erase(end->trial);
          ++ended;
        } else if (const auto* rest = std::get_if<engine::ParkedReport>(&*report)) {
          if (!allowed.contains(rest->trial)) continue;
          ASSERT_TRUE(parking.erase(rest->trial) == 1);
          ASSERT_EQ(rest->epoch, allowed.at(rest->trial));
          ASSERT_EQ(rest->epoch, told[rest->trial]);
          board.place(slot_of(rest->trial.value, rest->epoch), false, {});
          board.command(engine::Allow{rest->trial, rest->epoch});
          ++rested;
        }
      }
    }
    board.close();
    workers.clear();
    EXPECT_EQ(held_twice, 0);
    EXPECT_GT(rested, 3U);
  }
  EXPECT_GT(together, 50);
}

}  // namespace
}  // namespace lanista::runtime
