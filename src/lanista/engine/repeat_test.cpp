// Studies whose proposals are trained several times, and those with constraints: what the engine adds to both.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "lanista/engine/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

const FakeOptions kDisturbed{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6};

study::StudyConfig repeated_study() {
  study::StudyConfig config = small_study(24);
  config.strategy.repeat = 2;
  config.strategy.retry = 1;
  return config;
}

/// The trainings of every proposal, by what they measured last.
std::map<Digest, std::vector<std::pair<double, TrialId>>> trainings_by_decisions(const StudyView& view) {
  std::map<Digest, std::vector<std::pair<double, TrialId>>> trainings;
  for (const TrialView& trial : view.trials) {
    study::Proposal decisions = trial.proposal;
    decisions.repeat = 0;
    trainings[study::duplicate_key(decisions)].emplace_back(trial.measurements.back().metrics.at("val_accuracy"),
                                                            trial.id);
  }
  return trainings;
}

TEST(RepeatedStudy, TrainsEveryProposalAgainAndNamesTheBestTrainingOfTheBestAverage) {
  int luck_would_have_won = 0;
  for (const std::int64_t seed : {1, 2, 3, 4, 5, 6}) {
    Bench bench;
    study::StudyConfig config = repeated_study();
    config.stop = {};
    config.run.seed = seed;
    const auto summary = bench.run(config, {.seed = 9, .workers = 2, .luck = 3});
    ASSERT_TRUE(summary.ok()) << summary.error().text();

    const StudyView view = bench.view();
    std::pair<double, TrialId> best_of_all{-1, {}}, best_of_best{-1, {}};
    double best_average = -1;
    const auto proposals = trainings_by_decisions(view);
    EXPECT_EQ(proposals.size(), 12U);
    for (const auto& [decisions, trainings] : proposals) {
      ASSERT_EQ(trainings.size(), 2U);
      EXPECT_NE(trainings[0].first, trainings[1].first);
      const auto best = std::max(trainings[0], trainings[1]);
      const double average = (trainings[0].first + trainings[1].first) / 2;
      if (average > best_average) best_of_best = best;
      best_average = std::max(best_average, average);
      best_of_all = std::max(best_of_all, best);
    }
    luck_would_have_won += best_of_all.second != best_of_best.second;

    ASSERT_TRUE(view.winner);
    EXPECT_EQ(*view.winner, best_of_best.second) << seed;
    EXPECT_EQ(ranking(view).front(), best_of_best.second) << seed;
    EXPECT_FALSE(view.trials[view.winner->value - 1].outcome->weights.empty());
  }
  EXPECT_GT(luck_would_have_won, 0);
}

/// Passes everything on to a disk, and keeps what lay there after every piece of the log.
class Snapshots final : public FileSystem {
 public:
  explicit Snapshots(testing::MemoryFileSystem& disk) : disk_(disk) {}
  std::vector<std::map<std::string, std::string>> taken;

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override {
    LANISTA_ASSIGN(auto file, disk_.open_append(path));
    if (!path.ends_with(".log")) return file;
    return std::unique_ptr<AppendFile>(std::make_unique<Log>(*this, std::move(file)));
  }
  Result<std::string> read(const std::string& path, std::uint64_t offset) override { return disk_.read(path, offset); }
  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override {
    return disk_.write_file(path, data);
  }
  Result<void> rename(const std::string& from, const std::string& to) override { return disk_.rename(from, to); }
  Result<void> sync_folder(const std::string& path) override { return disk_.sync_folder(path); }
  Result<void> truncate(const std::string& path, std::uint64_t size) override { return disk_.truncate(path, size); }
  Result<void> remove(const std::string& path) override { return disk_.remove(path); }
  Result<void> make_folder(const std::string& path) override { return disk_.make_folder(path); }
  Result<std::vector<std::string>> list(const std::string& folder) override { return disk_.list(folder); }
  bool exists(const std::string& path) override { return disk_.exists(path); }
  Result<std::uint64_t> size(const std::string& path) override { return disk_.size(path); }
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override { return disk_.lock(path); }

 private:
  class Log final : public AppendFile {
   public:
    Log(Snapshots& all, std::unique_ptr<AppendFile> file) : all_(all), file_(std::move(file)) {}
    Result<void> append(std::span<const std::byte> data) override {
      auto done = file_->append(data);
      all_.taken.push_back(all_.disk_.files);
      return done;
    }
    Result<void> sync() override { return file_->sync(); }

   private:
    Snapshots& all_;
    std::unique_ptr<AppendFile> file_;
  };
  testing::MemoryFileSystem& disk_;
};

TEST(RepeatedStudy, GoesOnIdenticallyAfterAKillWithTheCheckpointsOfThatMoment) {
  FakeOptions options = kDisturbed;
  options.luck = 0.3;
  Bench reference;
  Snapshots disk(reference.disk);
  ASSERT_TRUE(reference.run(repeated_study(), options, disk).ok());
  const std::string weights = reference.disk.files.at(kFolder + "/best/weights.safetensors");
  ASSERT_GT(disk.taken.size(), 100U);

  std::size_t resumed = 0;
  for (std::size_t cut = 1; cut < disk.taken.size(); cut += 3) {
    Bench bench;
    bench.disk.files = disk.taken[cut];
    options.seed = cut;
    FakeExecutor executor = bench.executor(bench.disk, options);
    auto engine = Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, executor));
    ASSERT_TRUE(engine.ok()) << "cut behind record " << cut << ": " << engine.error().text();

    const auto summary = (*engine)->run();

    ASSERT_TRUE(summary.ok()) << "cut behind record " << cut << ": " << summary.error().text();
    ASSERT_EQ(bench.canonical(), reference.canonical()) << "cut behind record " << cut;
    ASSERT_EQ(bench.disk.files.at(kFolder + "/best/weights.safetensors"), weights) << "cut behind record " << cut;
    resumed += executor.resumed_from().size();
  }
  EXPECT_GT(resumed, 20U);
}

TEST(RepeatedStudy, DoesAFailedTrainingAgain) {
  Bench bench;
  study::StudyConfig config = small_study(20);
  config.strategy.retry = 2;
  FakeOptions options;
  options.fail_one_in = 3;
  ASSERT_TRUE(bench.run(config, options).ok());

  int again = 0;
  for (const TrialView& trial : bench.view().trials) {
    if (trial.proposal.repeat == 0) continue;
    ++again;
    EXPECT_LE(trial.proposal.repeat, 2);
  }
  EXPECT_GT(again, 0);
}

TEST(ConstrainedStudy, MeasuresTheCostsThatGoalsAndConstraintsAskFor) {
  Bench bench;
  study::StudyConfig config = small_study(12);
  config.goals = {{true, "val_accuracy"}, {false, "params"}};
  config.subject_to = {*study::Constraint::parse("val_loss + flops * 0 <= 1.7")};
  ASSERT_TRUE(bench.run(config, {}).ok());

  const StudyView view = bench.view();
  for (const TrialView& trial : view.trials) {
    if (trial.measurements.empty()) continue;
    EXPECT_EQ(trial.measurements.back().metrics.at("params"), static_cast<double>(trial.parameters));
    EXPECT_GT(trial.measurements.back().metrics.at("flops"), 0);
  }
  const auto ranked = study::standings(view);
  ASSERT_GT(ranked.size(), 2U);
  EXPECT_EQ(ranked.front().violation, 0);
  EXPECT_GT(ranked.back().violation, 0);
  EXPECT_FALSE(study::pareto_front(ranked).empty());
}

TEST(ConstrainedStudy, KeepsModelsWithinTheBoundsOfItsConstraints) {
  Bench bench;
  study::StudyConfig config = small_study(12);
  config.subject_to = {*study::Constraint::parse("params <= 700"), *study::Constraint::parse("momentum <= 0.5")};
  ASSERT_TRUE(bench.run(config, {}).ok());
  for (const TrialView& trial : bench.view().trials) {
    EXPECT_LE(trial.parameters, 700);
    const auto momentum = trial.proposal.sample.find("momentum");
    EXPECT_TRUE(momentum == trial.proposal.sample.end() || std::get<double>(momentum->second) <= 0.5);
    for (const auto& measurement : trial.measurements) EXPECT_FALSE(measurement.metrics.contains("params"));
  }
}

TEST(StudyFile, KeepsConstraintsAndRepeats) {
  const auto config = read_study(
      "subject_to: [val_loss <= 1, \"params <= 50k\"]\n"
      "strategy: {name: tpe, repeat: 3, average: median, retry: 1}\n"
      "goal: [maximize val_accuracy, minimize params]\n",
      "s.yaml");
  ASSERT_TRUE(config.ok()) << config.error().text();
  const auto again = read_study(write_study(*config), "again.yaml");
  ASSERT_TRUE(again.ok()) << again.error().text();
  for (const study::StudyConfig& each : {*config, *again}) {
    ASSERT_EQ(each.subject_to.size(), 2U);
    EXPECT_EQ(each.subject_to[1].text(), "params <= 50k");
    EXPECT_EQ(each.strategy.repeat, 3);
    EXPECT_EQ(each.strategy.average, "median");
    EXPECT_EQ(each.strategy.retry, 1);
  }
  EXPECT_EQ(read_study("subject_to: val_loss < 1", "s.yaml").error().message,
            "s.yaml:1:13: subject_to: 'val_loss < 1' is no constraint: at '< 1', '<=' or '>=' is wanted");
  EXPECT_FALSE(read_study("strategy: {repeat: 0}", "s.yaml").ok());
  EXPECT_FALSE(read_study("strategy: {average: mode}", "s.yaml").ok());
}

}  // namespace
}  // namespace lanista::engine
