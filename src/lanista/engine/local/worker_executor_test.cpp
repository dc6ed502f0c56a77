#include "lanista/engine/local/worker_executor.h"

#include <atomic>
#include <set>

#include "support/engine/local/worker_test_support.h"

namespace lanista::runtime {
namespace {

TEST_F(WorkerExecutorTest, TrainsEveryTrialAsItWouldBeTrainedAlone) {
  const auto step_ops = autodiff::training_ops(ops_.table());
  auto executor = make();
  for (std::uint32_t id = 1; id <= 6; ++id) {
    ASSERT_TRUE(executor->start(job(id)));
    executor->command(engine::Allow{TrialId{id}, kEpochs});
    executor->command(engine::Finish{TrialId{id}, id == 2});
  }

  std::map<TrialId, std::int64_t> epochs;
  for (const auto& report : drain(*executor, 6)) {
    if (const auto* epoch = std::get_if<engine::EpochReport>(&report)) {
      EXPECT_EQ(epoch->measurement.epoch, ++epochs[epoch->measurement.trial]);
    }
    const auto* finished = std::get_if<engine::FinishedReport>(&report);
    if (finished == nullptr) continue;
    auto alone = plain(job(finished->trial.value), step_ops);
    for (std::int64_t i = 0; i < kEpochs * alone.steps_per_epoch(); ++i) alone.step();
    EXPECT_EQ(finished->state_hash, state_hash(alone.save()));
    EXPECT_EQ(finished->weights.empty(), finished->trial != TrialId{2});
    if (!finished->weights.empty()) {
      const auto tested = executor->test(job(2), finished->weights);
      ASSERT_TRUE(tested);
      EXPECT_EQ(*tested, alone.evaluate(data::Part::kTest, "test_"));
    }
  }
  for (std::uint32_t id = 1; id <= 6; ++id) EXPECT_EQ(epochs[TrialId{id}], kEpochs);
}

// Ours and the caller's, of the validation part in training and of the test part in the end.
/// The CPU backend, as a device that needs many threads and few copies of a program.
class FewExecutablesBackend final : public program::Backend {
 public:
  std::string_view name() const override { return "few"; }
  std::string_view numeric_class() const override { return program::cpu_backend().numeric_class(); }
  program::Capability capability() const override {
    return {.workers = 12, .prefers_many_lanes = true, .max_executables = 2};
  }
  Result<std::unique_ptr<program::Executable>> compile(const autodiff::TrainingStep* train,
                                                       const autodiff::InferenceStep& infer,
                                                       const program::ProgramOptions& options) const override {
    ++compiled;
    return program::cpu_backend().compile(train, infer, options);
  }
  mutable std::atomic<int> compiled = 0;
};

TEST_F(WorkerExecutorTest, UsesFewExecutablesOnADeviceWithTheSameBits) {
  const FewExecutablesBackend device;
  WorkerOptions options;
  options.backend = &device;
  engine::WorkerConfig worker_config;
  worker_config.workers = 12;
  worker_config.lanes = 16;
  auto executor = make(worker_config, options);
  EXPECT_TRUE(executor->machine().whole_groups);
  EXPECT_EQ(executor->machine().workers, 12);
  engine::UpdateGroups together;
  plan::Regrouping::Part& group = together.changes.parts.emplace_back();
  group.group = 1;
  for (std::uint32_t id = 1; id <= 10; ++id) {
    ASSERT_TRUE(executor->start(job(id)));
    group.trials.push_back(TrialId{id});
  }
  executor->command(together);
  expect_ended(*executor, 10);
  EXPECT_LE(device.compiled, 2);
}

TEST_F(WorkerExecutorTest, MeasuresConfiguredMetrics) {
  WorkerOptions options;
  options.own_metrics = {{.name = "rows", .compute = [](const study::Scored& scored) {
                            return static_cast<double>(scored.labels.size());
                          }}};
  engine::WorkerConfig worker_config;
  worker_config.metrics = {"f1_macro", "rows"};
  auto executor = make(worker_config, options);
  ASSERT_TRUE(executor->start(job(1)));
  executor->command(engine::Allow{TrialId{1}, 1});
  executor->command(engine::Finish{TrialId{1}, true});
  const auto rows = [&](data::Part part) { return static_cast<double>(data_.rows(part).size()); };
  for (const auto& report : drain(*executor, 1)) {
    if (const auto* epoch = std::get_if<engine::EpochReport>(&report)) {
      EXPECT_EQ(epoch->measurement.metrics.at("val_rows"), rows(data::Part::kValidation));
      EXPECT_GT(epoch->measurement.metrics.at("val_f1_macro"), 0);
      EXPECT_FALSE(epoch->measurement.metrics.contains("val_accuracy"));
    }
    if (const auto* finished = std::get_if<engine::FinishedReport>(&report)) {
      const auto tested = executor->test(job(1), finished->weights);
      ASSERT_TRUE(tested) << tested.error().text();
      EXPECT_EQ(tested->at("test_rows"), rows(data::Part::kTest));
    }
  }
}

TEST_F(WorkerExecutorTest, AugmentsAlikeOnAnyNumberOfWorkers) {
  std::map<TrialId, Digest> hashes;
  for (const std::int64_t workers : {1, 2}) {
    engine::WorkerConfig worker_config;
    worker_config.workers = workers;
    auto executor = make(worker_config);
    for (std::uint32_t id = 1; id <= 3; ++id) {
      engine::Job augmented = job(id, "small-cnn");
      augmented.recipe.augment = {{"crop", {{"pad", 1}}}, {"noise", {{"std", 0.1}}}};
      augmented.recipe.epochs = 1;
      ASSERT_TRUE(executor->start(augmented));
      executor->command(engine::Allow{TrialId{id}, 1});
      executor->command(engine::Finish{TrialId{id}, false});
    }
    for (const auto& report : drain(*executor, 3)) {
      const auto* finished = std::get_if<engine::FinishedReport>(&report);
      if (finished == nullptr) continue;
      const auto [it, first] = hashes.emplace(finished->trial, finished->state_hash);
      EXPECT_EQ(it->second, finished->state_hash);
      EXPECT_EQ(first, workers == 1);
    }
  }
  EXPECT_EQ(hashes.size(), 3U);
}

TEST_F(WorkerExecutorTest, WaitsAtTheEpochItIsAllowed) {
  auto executor = make();
  ASSERT_TRUE(executor->start(job(1)));
  EXPECT_FALSE(executor->next(0.1));
  executor->command(engine::Allow{TrialId{1}, 1});

  const auto span = executor->next(20);
  ASSERT_TRUE(span && std::holds_alternative<engine::SpanReport>(*span));
  EXPECT_EQ(std::get<engine::SpanReport>(*span).epoch, 1);
  EXPECT_GE(std::get<engine::SpanReport>(*span).ended, std::get<engine::SpanReport>(*span).began);
  const auto epoch = executor->next(20);
  ASSERT_TRUE(epoch && std::holds_alternative<engine::EpochReport>(*epoch));
  EXPECT_FALSE(executor->next(0.1));
  executor->command(engine::Finish{TrialId{1}, false});

  const auto last = executor->next(20);
  ASSERT_TRUE(last);
  EXPECT_TRUE(std::holds_alternative<engine::FinishedReport>(*last));
}

TEST_F(WorkerExecutorTest, PausesWithCheckpointsThatResumeToTheSameBits) {
  const auto step_ops = autodiff::training_ops(ops_.table());
  std::map<TrialId, std::string> checkpoints;
  {
    auto executor = make();
    for (std::uint32_t id = 1; id <= 3; ++id) {
      ASSERT_TRUE(executor->start(job(id, "small-cnn")));
      executor->command(engine::Allow{TrialId{id}, kEpochs});
    }
    ASSERT_TRUE(executor->next(20));
    executor->command(engine::PauseAll{});
    const auto reports = drain(*executor, 100);
    ASSERT_TRUE(std::holds_alternative<engine::AllPausedReport>(reports.back()));
    for (const auto& report : reports) {
      if (const auto* saved = std::get_if<engine::CheckpointReport>(&report))
        checkpoints[saved->trial] = saved->address;
    }
    ASSERT_FALSE(checkpoints.empty());
  }

  auto executor = make();
  for (const auto& [id, address] : checkpoints) {
    auto again = job(id.value, "small-cnn");
    again.checkpoint = address;
    ASSERT_TRUE(executor->start(again));
    executor->command(engine::Allow{id, kEpochs});
    executor->command(engine::Finish{id, false});
  }
  std::map<TrialId, std::set<std::int64_t>> epochs;
  for (const auto& report : drain(*executor, checkpoints.size())) {
    if (const auto* epoch = std::get_if<engine::EpochReport>(&report))
      epochs[epoch->measurement.trial].insert(epoch->measurement.epoch);
    const auto* finished = std::get_if<engine::FinishedReport>(&report);
    if (finished == nullptr) continue;
    auto alone = plain(job(finished->trial.value, "small-cnn"), step_ops);
    for (std::int64_t i = 0; i < kEpochs * alone.steps_per_epoch(); ++i) alone.step();
    EXPECT_EQ(finished->state_hash, state_hash(alone.save()));
  }
  for (const auto& [id, seen] : epochs) EXPECT_EQ(seen.size(), static_cast<std::size_t>(kEpochs)) << id.value;
}

TEST_F(WorkerExecutorTest, TurnsABadTrialIntoAReportAndContinues) {
  auto executor = make();
  auto bad = job(1);
  bad.model = mutate::builtin_base("small-mlp", data_.spec().features, 4)->graph;
  for (const auto& each : {bad, job(2)}) {
    ASSERT_TRUE(executor->start(each));
    executor->command(engine::Allow{each.trial, 1});
    executor->command(engine::Finish{each.trial, false});
  }

  std::set<TrialId> failed, finished;
  for (const auto& report : drain(*executor, 2)) {
    if (const auto* failure = std::get_if<engine::FailureReport>(&report)) {
      failed.insert(failure->trial);
      EXPECT_EQ(failure->epoch, 1);
      EXPECT_NE(failure->reason.find("4 numbers a sample"), std::string::npos);
    }
    if (const auto* done = std::get_if<engine::FinishedReport>(&report)) finished.insert(done->trial);
  }
  EXPECT_EQ(failed, std::set{TrialId{1}});
  EXPECT_EQ(finished, std::set{TrialId{2}});
}

TEST_F(WorkerExecutorTest, AbandonsWithoutAReport) {
  auto executor = make();
  ASSERT_TRUE(executor->start(job(1)));
  executor->command(engine::Allow{TrialId{1}, kEpochs});
  executor->command(engine::Finish{TrialId{1}, false, true});

  while (const auto report = executor->next(0.3)) {
    EXPECT_TRUE(std::holds_alternative<engine::EpochReport>(*report) ||
                std::holds_alternative<engine::SpanReport>(*report));
  }
}

TEST_F(WorkerExecutorTest, GivesUpOnATrialThatKeepsCrashingTheProcess) {
  std::filesystem::create_directories(folder_ + "/control");
  ASSERT_TRUE(
      real_file_system().write_file(folder_ + "/control/crash.marks", std::as_bytes(std::span("3\n3\n1\n", 6))));
  auto executor = make();

  EXPECT_FALSE(executor->start(job(3)));
  EXPECT_TRUE(executor->start(job(1)));
}

}  // namespace
}  // namespace lanista::runtime
