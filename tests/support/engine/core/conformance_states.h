#pragma once

#include "support/engine/core/conformance_fixture.h"

// Part of executor_conformance.h: stored states of trials, and trials that resume from them.
namespace lanista::engine::testing {

TYPED_TEST_P(ExecutorConformance, ResumesFromCheckpointsExactly) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  const auto all = [&] {
    for (std::uint32_t id = 1; id <= 3; ++id) {
      this->allow(id, TestFixture::kEpochs);
      this->finish(id);
    }
    return this->collect_reports(this->has_ended(3));
  };
  for (std::uint32_t id = 1; id <= 3; ++id) this->start(id);
  const ReportLog undisturbed = all();

  this->executor = this->bench.make();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->start(id);
    this->allow(id, id);
  }
  ReportLog before = this->collect_reports([](const ReportLog& log) {
    const auto third = log.epochs.find(TrialId{3});
    return log.epochs.size() == 3 && third->second.size() == 3 && log.epochs.at(TrialId{2}).size() == 2;
  });
  this->executor->command(PauseAll{});
  const ReportLog saved = this->collect_reports([](const ReportLog& log) { return log.paused > 0; });
  EXPECT_TRUE(std::holds_alternative<AllPausedReport>(saved.all.back()));

  this->executor = this->bench.make();
  for (std::uint32_t id = 1; id <= 3; ++id) {
    // A state that was saved before the pause and has not changed need not be saved again.
    const auto& last = saved.checkpoints.contains(TrialId{id}) ? saved.checkpoints : before.checkpoints;
    ASSERT_TRUE(last.contains(TrialId{id})) << "trial " << id << " is not saved";
    EXPECT_EQ(last.at(TrialId{id}).epoch, id);
    this->start(id, last.at(TrialId{id}).address);
  }
  const ReportLog repeated = this->collect_reports([](const ReportLog& log) { return log.epochs.size() == 3; });
  for (std::uint32_t id = 1; id <= 3; ++id) {
    this->expect_epochs(repeated, id, id);
    EXPECT_EQ(TestFixture::texts(repeated.epochs.at(TrialId{id})), TestFixture::texts(before.epochs.at(TrialId{id})));
  }
  const ReportLog after = all();

  for (std::uint32_t id = 1; id <= 3; ++id) {
    auto epochs = repeated.epochs.at(TrialId{id});
    const auto rest = after.epochs.find(TrialId{id});
    if (rest != after.epochs.end()) epochs.insert(epochs.end(), rest->second.begin(), rest->second.end());
    EXPECT_EQ(TestFixture::texts(epochs), TestFixture::texts(undisturbed.epochs.at(TrialId{id}))) << "trial " << id;
    EXPECT_EQ(after.finished.at(TrialId{id}).front().state_hash,
              undisturbed.finished.at(TrialId{id}).front().state_hash);
  }
}

TYPED_TEST_P(ExecutorConformance, PausesTrialAtAllowedEpoch) {
  for (std::uint32_t id = 1; id <= 3; ++id) this->start(id);
  this->allow(2, 2);
  this->pause_trial(2);
  this->pause_trial(77);
  this->allow(3, TestFixture::kEpochs);
  this->finish(3);

  const ReportLog log = this->collect_reports(
      [](const ReportLog& t) { return t.paused_trials.contains(TrialId{2}) && t.finished.size() == 1; });

  this->expect_epochs(log, 2, 2);
  this->expect_epochs(log, 3, TestFixture::kEpochs);
  ASSERT_EQ(log.paused_trials.at(TrialId{2}).size(), 1U);
  EXPECT_EQ(log.paused_trials.at(TrialId{2}).front().epoch, 2);
  EXPECT_EQ(log.paused_trials.at(TrialId{2}).front().address.empty(), !TypeParam::kStoresWeights);
  EXPECT_FALSE(log.finished.contains(TrialId{2}));
  EXPECT_TRUE(log.failed.empty());
  this->allow(2, TestFixture::kEpochs);
  this->pause_trial(2);
  this->finish(2, true);
  const ReportLog after = this->collect_reports();
  EXPECT_TRUE(after.epochs.empty());
  EXPECT_TRUE(after.paused_trials.empty());
  EXPECT_TRUE(after.finished.empty());
}

TYPED_TEST_P(ExecutorConformance, ResumesPausedTrialOnAnyExecutor) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  this->start(1);
  this->allow(1, TestFixture::kEpochs);
  this->finish(1, true);
  const ReportLog undisturbed = this->collect_reports(this->has_ended(1));
  this->executor = this->bench.make();
  this->start(1);
  this->allow(1, 1);
  this->finish(1, false);
  const ReportLog first_epoch = this->collect_reports(this->has_ended(1));

  std::string address;
  std::vector<study::Measurement> last;
  for (std::int64_t epoch = 1; epoch < TestFixture::kEpochs; ++epoch) {
    if (epoch % 2 == 1) this->executor = this->bench.make();  // Every second time the same executor resumes it at once.
    this->start(1, address);
    this->allow(1, epoch);
    this->pause_trial(1);
    const ReportLog log = this->collect_reports(this->has_paused(1));
    this->expect_epochs(log, 1, epoch);  // Its earlier epochs are repeated.
    const TrialPausedReport& paused = log.paused_trials.at(TrialId{1}).front();
    EXPECT_EQ(paused.epoch, epoch);
    EXPECT_EQ(paused.step, log.epochs.at(TrialId{1}).back().step);
    if (epoch == 1) {
      EXPECT_EQ(paused.state_hash, first_epoch.finished.at(TrialId{1}).front().state_hash);
    }
    EXPECT_TRUE(this->executor->test(this->bench.job(1), paused.address));
    address = paused.address;
  }
  this->start(1, address);
  this->allow(1, TestFixture::kEpochs);
  this->finish(1, true);
  const ReportLog log = this->collect_reports(this->has_ended(1));

  EXPECT_EQ(TestFixture::texts(log.epochs.at(TrialId{1})), TestFixture::texts(undisturbed.epochs.at(TrialId{1})));
  EXPECT_EQ(log.finished.at(TrialId{1}).front().state_hash, undisturbed.finished.at(TrialId{1}).front().state_hash);
  EXPECT_EQ(log.finished.at(TrialId{1}).front().weights, undisturbed.finished.at(TrialId{1}).front().weights);
}

// Cloning is not resuming: the child reports its own epochs from the first on, and its own checkpoint does not need its
// start.
TYPED_TEST_P(ExecutorConformance, ClonesWeightsOfAnotherTrial) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  this->start(1);
  this->allow(1, 1);
  this->pause_trial(1);
  const std::string left = this->collect_reports(this->has_paused(1)).paused_trials.at(TrialId{1}).front().address;
  const auto whole = [&](const std::string& start_address) {
    this->executor = this->bench.make();
    this->start(2, {}, start_address);
    this->allow(2, TestFixture::kEpochs);
    this->finish(2, true);
    return this->collect_reports(this->has_ended(1));
  };
  const ReportLog fresh = whole({}), child = whole(left), again = whole(left);
  this->executor = this->bench.make();
  this->start(2, {}, left);
  this->allow(2, 1);
  this->pause_trial(2);
  const std::string own = this->collect_reports(this->has_paused(1)).paused_trials.at(TrialId{2}).front().address;
  this->start(2, own, left);
  this->allow(2, TestFixture::kEpochs);
  this->finish(2, true);
  const ReportLog resumed = this->collect_reports(this->has_ended(1));

  for (const ReportLog* log : {&fresh, &child, &again, &resumed}) {
    this->expect_epochs(*log, 2, TestFixture::kEpochs);
    EXPECT_EQ(log->epochs.size(), 1U) << "of the child only";
  }
  const auto end = [](const ReportLog& log) { return log.finished.at(TrialId{2}).front().state_hash; };
  EXPECT_NE(end(child), end(fresh));
  for (const ReportLog* log : {&again, &resumed}) {
    EXPECT_EQ(end(*log), end(child));
    EXPECT_EQ(TestFixture::texts(log->epochs.at(TrialId{2})), TestFixture::texts(child.epochs.at(TrialId{2})));
  }
}

// A fork is neither: the trial keeps its measurements and continues from the state of another trial.
TYPED_TEST_P(ExecutorConformance, ForksFromStateOfAnotherTrial) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  Job own = this->bench.job(1);  // It shares the program.
  own.trial = TrialId{2};
  own.trial_seed = own.trial_seed + 1;
  own.recipe.lr *= 0.5;
  this->start(1);
  ASSERT_TRUE(this->executor->start(own));
  for (std::uint32_t id = 1; id <= 2; ++id) {
    this->allow(id, 1);
    this->pause_trial(id);
  }
  const ReportLog rested = this->collect_reports(this->has_paused(2));
  const auto had = rested.epochs.at(TrialId{2});
  const std::string others = rested.paused_trials.at(TrialId{1}).front().address;
  const auto whole = [&](const std::string& checkpoint, bool forks) {
    this->executor = this->bench.make();
    Job job = own;
    job.checkpoint = checkpoint;
    if (forks) job.fork = ForkedRun{TrialId{1}, had};
    const auto started = this->executor->start(job);
    EXPECT_TRUE(started) << started.error().text();
    this->allow(2, TestFixture::kEpochs);
    this->finish(2, true);
    return this->collect_reports(this->has_ended(1));
  };
  const ReportLog plain = whole(rested.paused_trials.at(TrialId{2}).front().address, false);
  const ReportLog forked = whole(others, true), again = whole(others, true);
  // In the middle of the training after the fork.
  this->executor = this->bench.make();
  Job job = own;
  job.checkpoint = others;
  job.fork = ForkedRun{TrialId{1}, had};
  ASSERT_TRUE(this->executor->start(job));
  this->allow(2, 2);
  this->pause_trial(2);
  const ReportLog resumed =
      whole(this->collect_reports(this->has_paused(1)).paused_trials.at(TrialId{2}).front().address, true);

  const auto end = [](const ReportLog& log) { return log.finished.at(TrialId{2}).front(); };
  const auto texts = [](const ReportLog& log) { return TestFixture::texts(log.epochs.at(TrialId{2})); };
  for (const ReportLog* log : {&plain, &forked, &again, &resumed}) {
    this->expect_epochs(*log, 2, TestFixture::kEpochs);
    EXPECT_EQ(log->epochs.size(), 1U) << "of the trial itself only";
    EXPECT_EQ(texts(*log).front(), TestFixture::texts(had).front()) << "what it had measured";
  }
  EXPECT_NE(end(forked).state_hash, end(plain).state_hash);
  for (const ReportLog* log : {&again, &resumed}) {
    EXPECT_EQ(end(*log).state_hash, end(forked).state_hash);
    EXPECT_EQ(end(*log).weights, end(forked).weights);
    EXPECT_EQ(texts(*log), texts(forked));
  }
  // A forked trial with a lost state does not start again.
  Job lost = job;
  lost.checkpoint.clear();
  EXPECT_FALSE(this->executor->start(lost));
}

TYPED_TEST_P(ExecutorConformance, RefusesMissingStart) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  Job job = this->bench.job(2);
  job.start = study::Start{TrialId{1}, 1, "", std::string(32, '0')};

  EXPECT_FALSE(this->executor->start(job));

  EXPECT_TRUE(this->collect_reports().all.empty());
}

TYPED_TEST_P(ExecutorConformance, RefusesMissingCheckpoint) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  Job job = this->bench.job(1);
  job.checkpoint = std::string(32, '0');

  EXPECT_FALSE(this->executor->start(job));

  EXPECT_TRUE(this->collect_reports().all.empty());
  this->start(2);
  this->allow(2, 1);
  this->finish(2);
  this->expect_epochs(this->collect_reports(this->has_ended(1)), 2, 1);
}

TYPED_TEST_P(ExecutorConformance, TestsStoredWeights) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  this->start(1);
  this->allow(1, 2);
  this->finish(1, true);
  const ReportLog log = this->collect_reports(this->has_ended(1));
  ASSERT_TRUE(log.finished.contains(TrialId{1}));
  const std::string weights = log.finished.at(TrialId{1}).front().weights;
  ASSERT_FALSE(weights.empty());

  const auto metrics = this->executor->test(this->bench.job(1), weights);
  const auto again = this->bench.make()->test(this->bench.job(1), weights);

  ASSERT_TRUE(metrics) << metrics.error().text();
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_FALSE(metrics->empty());
  EXPECT_EQ(*metrics, *again);
  EXPECT_FALSE(this->executor->test(this->bench.job(1), std::string(32, '0')));
  EXPECT_TRUE(this->collect_reports().all.empty());
}

TYPED_TEST_P(ExecutorConformance, MeasuresTrialsAndBlendsOfThem) {
  if (!TypeParam::kStoresWeights) GTEST_SKIP() << "keeps nothing";
  std::vector<EvaluatedMember> members;
  std::vector<study::Measurement> last;
  for (const std::uint32_t id : {1U, 2U}) {
    this->start(id);
    this->allow(id, 2);
    this->finish(id, true);
    const ReportLog log = this->collect_reports(this->has_ended(1));
    ASSERT_TRUE(log.finished.contains(TrialId{id}));
    members.push_back({this->bench.job(id), log.finished.at(TrialId{id}).front().weights, 0.5});
    last.push_back(log.epochs.at(TrialId{id}).back());
  }

  for (std::size_t k = 0; k < 2; ++k) {
    const EvaluatedMember only{members[k].job, members[k].weights};
    const auto alone = this->executor->measure({&only, 1}, data::Part::kValidation);
    ASSERT_TRUE(alone) << alone.error().text();
    for (const auto& [name, value] : *alone) EXPECT_EQ(value, last[k].metrics.at(name)) << name;
    EXPECT_TRUE(alone->contains("val_loss"));
  }
  const auto blend = this->executor->measure(members, data::Part::kValidation);
  const auto again = this->bench.make()->measure(members, data::Part::kValidation);
  const auto tested = this->executor->measure(members, data::Part::kTest);
  members[0].share = 1.0 / 3;
  members[1].share = 2.0 / 3;
  const auto other = this->executor->measure(members, data::Part::kValidation);

  ASSERT_TRUE(blend && again && tested && other);
  EXPECT_EQ(*blend, *again);
  if (members[0].weights != members[1].weights) {
    EXPECT_NE(*blend, *other);
  }
  EXPECT_TRUE(blend->contains("val_loss"));
  for (const auto& [name, value] : *tested) EXPECT_TRUE(name.starts_with("test_")) << name;
  members[1].weights = std::string(32, '0');
  EXPECT_FALSE(this->executor->measure(members, data::Part::kValidation));
}

}  // namespace lanista::engine::testing
