#pragma once

#include "support/engine/core/conformance_fixture.h"

// Part of executor_conformance.h: effects of commands and their reports.
namespace lanista::engine::testing {

TYPED_TEST_P(ExecutorConformance, ReportsEveryEpochOnceInOrder) {
  for (std::uint32_t id = 1; id <= 4; ++id) this->start(id);
  for (std::int64_t epoch = 1; epoch <= TestFixture::kEpochs; ++epoch) {
    for (std::uint32_t id = 1; id <= 4; ++id) this->allow(id, epoch);
  }
  for (std::uint32_t id = 1; id <= 4; ++id) this->finish(id);

  const ReportLog log = this->collect_reports(this->has_ended(4));

  for (std::uint32_t id = 1; id <= 4; ++id) {
    this->expect_epochs(log, id, TestFixture::kEpochs);
    ASSERT_TRUE(log.finished.contains(TrialId{id}));
    EXPECT_EQ(log.finished.at(TrialId{id}).size(), 1U);
    EXPECT_EQ(log.finished.at(TrialId{id}).front().weights, "");
  }
  EXPECT_TRUE(log.failed.empty());
  EXPECT_EQ(log.paused, 0);
}

TYPED_TEST_P(ExecutorConformance, WaitsAtAllowedEpoch) {
  this->start(1);
  EXPECT_TRUE(this->collect_reports().all.empty());
  this->allow(1, 2);
  this->allow(1, 1);  // Withdraws nothing.
  const auto two = [](const ReportLog& log) {
    return log.epochs.contains(TrialId{1}) && log.epochs.at(TrialId{1}).size() == 2;
  };
  const ReportLog first = this->collect_reports(two);
  this->expect_epochs(first, 1, 2);
  EXPECT_TRUE(first.finished.empty());
  this->allow(1, 1);
  this->allow(1, 3);
  const ReportLog third = this->collect_reports([](const ReportLog& log) { return !log.epochs.empty(); });
  ASSERT_EQ(third.epochs.at(TrialId{1}).size(), 1U);
  EXPECT_EQ(third.epochs.at(TrialId{1}).front().epoch, 3);
  this->finish(1);

  const ReportLog last = this->collect_reports(this->has_ended(1));

  EXPECT_TRUE(last.epochs.empty());
  EXPECT_EQ(last.finished.size(), 1U);
}

TYPED_TEST_P(ExecutorConformance, AbandonsWithoutReportAndKeepsOthers) {
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->start(id);
    this->allow(id, TestFixture::kEpochs);
  }
  this->abandon(2);
  this->finish(1);
  this->finish(3);

  const ReportLog log = this->collect_reports(this->has_ended(2));

  EXPECT_FALSE(log.finished.contains(TrialId{2}));
  EXPECT_TRUE(log.failed.empty());
  this->expect_epochs(log, 1, TestFixture::kEpochs);
  this->expect_epochs(log, 3, TestFixture::kEpochs);
}

// Unfinished work of the trial is dropped when it starts again.
TYPED_TEST_P(ExecutorConformance, DropsReportsOfEarlierStart) {
  for (int again = 0; again < 8; ++again) {
    this->start(1);
    this->allow(1, TestFixture::kEpochs);
    this->collect_reports([&](const ReportLog& log) { return static_cast<int>(log.all.size()) > again % 4; });
    this->abandon(1);
  }
  this->start(1);
  this->allow(1, TestFixture::kEpochs);
  this->finish(1);

  const ReportLog log = this->collect_reports(this->has_ended(1));

  this->expect_epochs(log, 1, TestFixture::kEpochs);
  EXPECT_EQ(log.finished.size(), 1U);
}

TYPED_TEST_P(ExecutorConformance, IgnoresCommandsForUnknownTrials) {
  this->start(1);
  this->start(2);
  this->allow(1, 1);
  this->finish(1);
  ASSERT_TRUE(this->collect_reports(this->has_ended(1)).finished.contains(TrialId{1}));
  this->abandon(2);
  const auto expect_nothing = [&](const char* after) {
    const ReportLog log = this->collect_reports();
    EXPECT_TRUE(log.epochs.empty()) << after;
    EXPECT_TRUE(log.finished.empty()) << after;
    EXPECT_TRUE(log.failed.empty()) << after;
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
  this->expect_epochs(this->collect_reports(this->has_ended(1)), 3, 1);
}

TYPED_TEST_P(ExecutorConformance, ReportsPauseOnceThenNothing) {
  this->executor->command(PauseAll{});
  const auto paused = [](const ReportLog& log) { return log.paused > 0; };
  EXPECT_EQ(this->collect_reports(paused).all.size(), 1U);

  this->executor = this->bench.make();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->start(id);
    this->allow(id, TestFixture::kEpochs);
  }
  this->start(4);  // Trial 4 waits.
  this->executor->command(PauseAll{});
  const ReportLog log = this->collect_reports(paused);

  EXPECT_EQ(log.paused, 1);
  EXPECT_TRUE(std::holds_alternative<AllPausedReport>(log.all.back()));
  EXPECT_TRUE(log.finished.empty());
  EXPECT_TRUE(log.failed.empty());
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->allow(id, TestFixture::kEpochs);
    this->abandon(id);
  }
  this->allow(4, TestFixture::kEpochs);
  this->finish(4);
  EXPECT_TRUE(this->collect_reports().all.empty());
}

}  // namespace lanista::engine::testing
