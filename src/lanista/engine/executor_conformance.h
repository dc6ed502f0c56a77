#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lanista/engine/executor.h"

/// What executor.h promises, as tests for every executor. A bench is default-constructible and has
///   static constexpr bool kKeeps           states and weights are stored; an executor that trains nothing keeps none
///   static constexpr std::int64_t kEpochs  of a job, at least 3
///   std::unique_ptr<Executor> make()       over what its earlier executors stored, as in another process
///   Job job(std::uint32_t id)              the same for the same number
namespace lanista::engine::testing {

/// What an executor told, by kind.
struct Told {
  std::vector<Report> all;
  std::map<TrialId, std::vector<study::Measurement>> epochs;
  std::map<TrialId, std::vector<FinishedReport>> finished;
  std::map<TrialId, CheckpointReport> checkpoints;  ///< the last of each trial
  std::vector<FailureReport> failed;
  int paused = 0;

  void take(const Report& report) {
    all.push_back(report);
    if (const auto* epoch = std::get_if<EpochReport>(&report)) {
      epochs[epoch->measurement.trial].push_back(epoch->measurement);
    } else if (const auto* end = std::get_if<FinishedReport>(&report)) {
      finished[end->trial].push_back(*end);
    } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
      checkpoints[saved->trial] = *saved;
    } else if (const auto* failure = std::get_if<FailureReport>(&report)) {
      failed.push_back(*failure);
    } else if (std::holds_alternative<PausedReport>(report)) {
      ++paused;
    } else if (const auto* broken = std::get_if<BrokenReport>(&report)) {
      ADD_FAILURE() << "broken: " << broken->error.text();
    }
  }
};

template <class Bench>
class ExecutorConformance : public ::testing::Test {
 protected:
  static constexpr std::int64_t kEpochs = Bench::kEpochs;
  static constexpr std::size_t kMostReports = 1000;

  void start(std::uint32_t id, const std::string& checkpoint = {}) {
    Job job = bench.job(id);
    job.checkpoint = checkpoint;
    const auto started = executor->start(job);
    ASSERT_TRUE(started) << started.error().text();
  }
  void allow(std::uint32_t id, std::int64_t epoch) { executor->command(Allow{TrialId{id}, epoch}); }
  void finish(std::uint32_t id, bool keep = false) { executor->command(Finish{TrialId{id}, keep, false}); }
  void abandon(std::uint32_t id) { executor->command(Finish{TrialId{id}, false, true}); }

  /// Takes reports until `enough` holds of all that was told; then everything that still comes within a moment.
  template <class Enough>
  Told listen(Enough enough) {
    Told told;
    bool is_enough = enough(told);
    while (const auto report = executor->next(is_enough ? 0.05 : 30)) {
      told.take(*report);
      is_enough = is_enough || enough(told);
      if (told.all.size() > kMostReports) {
        ADD_FAILURE() << "no end of reports";
        return told;
      }
    }
    if (!is_enough) ADD_FAILURE() << "silence";
    return told;
  }
  Told listen() {
    return listen([](const Told&) { return true; });
  }
  static auto ends(std::size_t trials) {
    return [trials](const Told& told) { return told.finished.size() + told.failed.size() >= trials; };
  }

  void expect_epochs(const Told& told, std::uint32_t id, std::int64_t count) {
    const auto found = told.epochs.find(TrialId{id});
    const auto seen = found == told.epochs.end() ? std::vector<study::Measurement>() : found->second;
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(count)) << "trial " << id;
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].epoch, static_cast<std::int64_t>(i) + 1);
  }

  static std::vector<std::string> texts(const std::vector<study::Measurement>& measurements) {
    std::vector<std::string> texts;
    for (const auto& each : measurements) texts.push_back(study::measurement_json(each).dump());
    return texts;
  }

  Bench bench;
  std::unique_ptr<Executor> executor = bench.make();
};

TYPED_TEST_SUITE_P(ExecutorConformance);

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

TYPED_TEST_P(ExecutorConformance, GoesOnFromCheckpointsAsIfNothingHadHappened) {
  if (!TypeParam::kKeeps) GTEST_SKIP() << "keeps nothing";
  const auto all = [&] {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      this->allow(id, TestFixture::kEpochs);
      this->finish(id);
    }
    return this->listen(this->ends(3));
  };
  for (std::uint32_t id = 1; id <= 3; ++id) this->start(id);
  const Told undisturbed = all();

  this->executor = this->bench.make();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->start(id);
    this->allow(id, id);
  }
  Told before = this->listen([](const Told& told) {
    const auto third = told.epochs.find(TrialId{3});
    return told.epochs.size() == 3 && third->second.size() == 3 && told.epochs.at(TrialId{2}).size() == 2;
  });
  this->executor->command(PauseAll{});
  const Told saved = this->listen([](const Told& told) { return told.paused > 0; });
  EXPECT_TRUE(std::holds_alternative<PausedReport>(saved.all.back()));

  this->executor = this->bench.make();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    // What was saved before the pause and has not changed since need not be saved again.
    const auto& last = saved.checkpoints.contains(TrialId{id}) ? saved.checkpoints : before.checkpoints;
    ASSERT_TRUE(last.contains(TrialId{id})) << "trial " << id << " is not saved";
    EXPECT_EQ(last.at(TrialId{id}).epoch, id);
    this->start(id, last.at(TrialId{id}).address);
  }
  const Told repeated = this->listen([](const Told& told) { return told.epochs.size() == 3; });
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->expect_epochs(repeated, id, id);
    EXPECT_EQ(TestFixture::texts(repeated.epochs.at(TrialId{id})), TestFixture::texts(before.epochs.at(TrialId{id})));
  }
  const Told after = all();

  for (std::uint32_t id = 1; id <= 3; ++id) {
    auto epochs = repeated.epochs.at(TrialId{id});
    const auto rest = after.epochs.find(TrialId{id});
    if (rest != after.epochs.end()) epochs.insert(epochs.end(), rest->second.begin(), rest->second.end());
    EXPECT_EQ(TestFixture::texts(epochs), TestFixture::texts(undisturbed.epochs.at(TrialId{id}))) << "trial " << id;
    EXPECT_EQ(after.finished.at(TrialId{id}).front().state_hash,
              undisturbed.finished.at(TrialId{id}).front().state_hash);
  }
}

TYPED_TEST_P(ExecutorConformance, RefusesACheckpointThatIsNotThere) {
  if (!TypeParam::kKeeps) GTEST_SKIP() << "keeps nothing";
  Job job = this->bench.job(1);
  job.checkpoint = std::string(32, '0');

  EXPECT_FALSE(this->executor->start(job));

  EXPECT_TRUE(this->listen().all.empty());
  this->start(2);
  this->allow(2, 1);
  this->finish(2);
  this->expect_epochs(this->listen(this->ends(1)), 2, 1);
}

TYPED_TEST_P(ExecutorConformance, TestsTheWeightsThatItKept) {
  if (!TypeParam::kKeeps) GTEST_SKIP() << "keeps nothing";
  this->start(1);
  this->allow(1, 2);
  this->finish(1, true);
  const Told told = this->listen(this->ends(1));
  ASSERT_TRUE(told.finished.contains(TrialId{1}));
  const std::string weights = told.finished.at(TrialId{1}).front().weights;
  ASSERT_FALSE(weights.empty());

  const auto metrics = this->executor->test(this->bench.job(1), weights);
  const auto again = this->bench.make()->test(this->bench.job(1), weights);

  ASSERT_TRUE(metrics) << metrics.error().text();
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_FALSE(metrics->empty());
  EXPECT_EQ(*metrics, *again);
  EXPECT_FALSE(this->executor->test(this->bench.job(1), std::string(32, '0')));
  EXPECT_TRUE(this->listen().all.empty());
}

REGISTER_TYPED_TEST_SUITE_P(ExecutorConformance, TellsEveryEpochOnceAndInOrder, WaitsAtTheEpochThatItIsAllowed,
                            AbandonsWithoutAnEndAndWithoutTouchingOthers, TakesCommandsForTrialsThatAreGoneOrNeverWere,
                            SaysThatItPausedOnceAndThenNothing, GoesOnFromCheckpointsAsIfNothingHadHappened,
                            RefusesACheckpointThatIsNotThere, TestsTheWeightsThatItKept);

}  // namespace lanista::engine::testing
