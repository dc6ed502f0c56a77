#pragma once

#include "support/engine/core/conformance_fixture.h"

// Of executor_conformance.h: orders are obeyed, and what is told of them.
namespace lanista::engine::testing {

TYPED_TEST_P(ExecutorConformance, TellsEveryEpochOnceAndInOrder) {
  for (std::uint32_t id = 1; id <= 4; ++id) this->start(id);
  for (std::int64_t epoch = 1; epoch <= TestFixture::kEpochs; ++epoch) {
    for (std::uint32_t id = 1; id <= 4; ++id) this->allow(id, epoch);
  }
  for (std::uint32_t id = 1; id <= 4; ++id) this->finish(id);

  const Told told = this->listen(this->ends(4));

  for (std::uint32_t id = 1; id <= 4; ++id) {
    this->expect_epochs(told, id, TestFixture::kEpochs);
    ASSERT_TRUE(told.finished.contains(TrialId{id}));
    EXPECT_EQ(told.finished.at(TrialId{id}).size(), 1U);
    EXPECT_EQ(told.finished.at(TrialId{id}).front().weights, "");
  }
  EXPECT_TRUE(told.failed.empty());
  EXPECT_EQ(told.paused, 0);
}

TYPED_TEST_P(ExecutorConformance, WaitsAtTheEpochThatItIsAllowed) {
  this->start(1);
  EXPECT_TRUE(this->listen().all.empty());
  this->allow(1, 2);
  this->allow(1, 1);  // takes nothing back
  const auto two = [](const Told& told) {
    return told.epochs.contains(TrialId{1}) && told.epochs.at(TrialId{1}).size() == 2;
  };
  const Told first = this->listen(two);
  this->expect_epochs(first, 1, 2);
  EXPECT_TRUE(first.finished.empty());
  this->allow(1, 1);
  this->allow(1, 3);
  const Told third = this->listen([](const Told& told) { return !told.epochs.empty(); });
  ASSERT_EQ(third.epochs.at(TrialId{1}).size(), 1U);
  EXPECT_EQ(third.epochs.at(TrialId{1}).front().epoch, 3);
  this->finish(1);

  const Told last = this->listen(this->ends(1));

  EXPECT_TRUE(last.epochs.empty());
  EXPECT_EQ(last.finished.size(), 1U);
}

TYPED_TEST_P(ExecutorConformance, AbandonsWithoutAnEndAndWithoutTouchingOthers) {
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->start(id);
    this->allow(id, TestFixture::kEpochs);
  }
  this->abandon(2);
  this->finish(1);
  this->finish(3);

  const Told told = this->listen(this->ends(2));

  EXPECT_FALSE(told.finished.contains(TrialId{2}));
  EXPECT_TRUE(told.failed.empty());
  this->expect_epochs(told, 1, TestFixture::kEpochs);
  this->expect_epochs(told, 3, TestFixture::kEpochs);
}

// What was under way of it when it was begun anew is void.
TYPED_TEST_P(ExecutorConformance, TellsNothingOfAnEarlierStart) {
  for (int again = 0; again < 8; ++again) {
    this->start(1);
    this->allow(1, TestFixture::kEpochs);
    this->listen([&](const Told& told) { return static_cast<int>(told.all.size()) > again % 4; });
    this->abandon(1);
  }
  this->start(1);
  this->allow(1, TestFixture::kEpochs);
  this->finish(1);

  const Told told = this->listen(this->ends(1));

  this->expect_epochs(told, 1, TestFixture::kEpochs);
  EXPECT_EQ(told.finished.size(), 1U);
}

TYPED_TEST_P(ExecutorConformance, TakesCommandsForTrialsThatAreGoneOrNeverWere) {
  this->start(1);
  this->start(2);
  this->allow(1, 1);
  this->finish(1);
  ASSERT_TRUE(this->listen(this->ends(1)).finished.contains(TrialId{1}));
  this->abandon(2);
  const auto expect_nothing = [&](const char* after) {
    const Told told = this->listen();
    EXPECT_TRUE(told.epochs.empty()) << after;
    EXPECT_TRUE(told.finished.empty()) << after;
    EXPECT_TRUE(told.failed.empty()) << after;
  };
  const std::vector<std::uint32_t> unknown{1, 2, 77};
  for (const std::uint32_t id : unknown) this->allow(id, TestFixture::kEpochs);
  expect_nothing("allow");
  for (const std::uint32_t id : unknown) this->finish(id, true);
  expect_nothing("finish");
  for (const std::uint32_t id : unknown) this->abandon(id);
  expect_nothing("abandon");
  this->start(3);
  this->allow(3, 1);
  this->finish(3);
  this->expect_epochs(this->listen(this->ends(1)), 3, 1);
}

TYPED_TEST_P(ExecutorConformance, SaysThatItPausedOnceAndThenNothing) {
  this->executor->command(PauseAll{});
  const auto paused = [](const Told& told) { return told.paused > 0; };
  EXPECT_EQ(this->listen(paused).all.size(), 1U);

  this->executor = this->bench.make();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->start(id);
    this->allow(id, TestFixture::kEpochs);
  }
  this->start(4);  // and waits
  this->executor->command(PauseAll{});
  const Told told = this->listen(paused);

  EXPECT_EQ(told.paused, 1);
  EXPECT_TRUE(std::holds_alternative<PausedReport>(told.all.back()));
  EXPECT_TRUE(told.finished.empty());
  EXPECT_TRUE(told.failed.empty());
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->allow(id, TestFixture::kEpochs);
    this->abandon(id);
  }
  this->allow(4, TestFixture::kEpochs);
  this->finish(4);
  EXPECT_TRUE(this->listen().all.empty());
}

}  // namespace lanista::engine::testing
