// What a power cut may not take: each test stands for a promise, and for the sync behind it. That no order of losses
// breaks a study is shown by tests/power_proof.
#include <gtest/gtest.h>

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/package.h"
#include "support/engine/core/test_support.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::engine {
namespace {

using store::RecordType;
using testing::Bench;
using testing::kFolder;
using testing::PassingExecutor;
using testing::small_study;

const FakeOptions kFake{.workers = 2, .checkpoint_one_in = 2};

/// Everything that was not synced is gone.
void lose_all(MemoryFileSystem& disk) { disk.lose_power(PowerLoss::kAll, Rng(1)); }

TEST(PowerLoss, TakesNothingOfAStudyThatHasEnded) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), kFake));
  const std::string canonical = bench.canonical();
  const auto best = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(best);

  lose_all(bench.disk);

  EXPECT_EQ(bench.canonical(), canonical);
  EXPECT_EQ(bench.view().end_reason, "budget");
  const auto left = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(left) << left.error().text();
  EXPECT_EQ(left->facts, best->facts);
}

TEST(PowerLoss, TakesNothingOfAStudyThatIsPaused) {
  Bench bench;
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 25) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), kFake));
  const auto records = store::read_log(bench.disk, kFolder)->size();
  bench.pause = 0;

  lose_all(bench.disk);

  EXPECT_EQ(store::read_log(bench.disk, kFolder)->size(), records);
  ASSERT_TRUE(bench.resume(kFake));
  for (const LogEvent& event : bench.sink.events()) EXPECT_NE(event.event, "checkpoint_lost");
}

TEST(PowerLoss, LeavesANewStudyItsFolders) {
  Bench bench;
  {
    FakeExecutor fake = bench.executor(bench.disk, {});
    const auto config = small_study();
    ASSERT_TRUE(Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics,
                               bench.services(bench.disk, fake)));
  }
  lose_all(bench.disk);

  for (const char* name : {"/log", "/control", "/ckpt", "/config.resolved.yaml", "/README.txt"}) {
    EXPECT_TRUE(bench.disk.exists(kFolder + name)) << name;
  }
  EXPECT_TRUE(bench.resume(kFake));
}

TEST(PowerLoss, LeavesTheFoldersThatResumeMakes) {
  Bench bench;
  bench.observer.on_event = [&](const StudyView& view, const study::Event&) {
    if (view.trials.size() == 5) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), kFake));
  bench.pause = 0;
  Bench moved;  // without its empty folders, as archives leave a study
  testing::copy_without_best(bench.disk, moved.disk);
  {
    FakeExecutor fake = moved.executor(moved.disk, {});
    ASSERT_TRUE(Engine::resume(kFolder, {}, moved.numerics, moved.services(moved.disk, fake)));
  }
  lose_all(moved.disk);

  EXPECT_TRUE(moved.disk.exists(kFolder + "/control"));
}

TEST(PowerLoss, TakesNoExtensionThatWasObeyed) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(4), kFake));
  bench.pause = 15;
  const auto paused = bench.resume(kFake, {.trials = 3});
  ASSERT_TRUE(paused);
  ASSERT_EQ(paused->end, End::kPaused);
  bench.pause = 0;
  lose_all(bench.disk);

  ASSERT_TRUE(bench.resume(kFake));
  EXPECT_EQ(bench.view().trials.size(), 7U);
}

/// Runs a study in which somebody asks for its end; gives whether it came to that.
bool run_until_stopped(Bench& bench, FileSystem& fs) {
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 12) bench.disk.put(kFolder + "/control/stop", "");
  };
  static_cast<void>(bench.run(small_study(6), kFake, fs));
  bench.observer = {};
  return events >= 12;
}

TEST(PowerLoss, BringsNoRequestBack) {
  Bench bench;
  ASSERT_TRUE(run_until_stopped(bench, bench.disk));
  EXPECT_EQ(bench.view().end_reason, "stopped by the user");

  lose_all(bench.disk);

  EXPECT_FALSE(bench.disk.exists(kFolder + "/control/stop"));
  ASSERT_TRUE(bench.resume(kFake, {2, {}}));
  EXPECT_EQ(bench.view().end_reason, "budget");
}

TEST(PowerLoss, TakesNoRequestThatLiesNoMoreInItsFolder) {
  int taken = 0;
  for (std::int64_t at = 0;; ++at) {
    Bench bench;
    FaultyFileSystem faulty(bench.disk, {.at = at, .sticky = true, .torn = true, .error = {}});
    const bool asked = run_until_stopped(bench, faulty);
    if (faulty.calls() <= at) break;
    if (!asked || bench.disk.exists(kFolder + "/control/stop")) continue;
    ++taken;
    lose_all(bench.disk);
    const auto records = store::read_log(bench.disk, kFolder);
    ASSERT_TRUE(std::any_of(records->begin(), records->end(), [](const store::Record& record) {
      return record.type == RecordType::kControl && record.body.at("request") == "stop";
    })) << at;
  }
  EXPECT_GT(taken, 1);
}

/// Says nothing for a while, as in a long epoch.
class Silent final : public PassingExecutor {
 public:
  Silent(Executor& inner, VirtualClock& clock) : PassingExecutor(inner), clock_(clock) {}
  std::optional<Report> next(double seconds) override {
    if (quiet == 0) return PassingExecutor::next(seconds);
    --quiet;
    clock_.advance(seconds);
    return std::nullopt;
  }
  int quiet = 0;

 private:
  VirtualClock& clock_;
};

TEST(PowerLoss, TakesNothingThatIsOlderThanASecondThoughNothingHappens) {
  Bench bench;
  FakeExecutor fake = bench.executor(bench.disk, {});
  Silent executor(fake, bench.clock);
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 20) executor.quiet = 8;  // two seconds
  };
  const std::string log = kFolder + "/log/000001.log";
  bench.observer.on_idle = [&](const StudyView&) {
    if (executor.quiet == 1) {
      executor.quiet = 0;
      MemoryFileSystem left;
      left.put(log, bench.disk.synced(log));
      EXPECT_EQ(store::read_log(left, kFolder)->size(), store::read_log(bench.disk, kFolder)->size());
      events = 1000;
    }
  };
  const auto config = small_study();
  auto engine = Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics,
                               bench.services(bench.disk, executor));
  ASSERT_TRUE(engine);
  ASSERT_TRUE((*engine)->run());
  EXPECT_GE(events, 1000) << "the silence was looked into";
}

/// Breaks after so many reports.
class Breaking final : public PassingExecutor {
 public:
  using PassingExecutor::PassingExecutor;
  std::optional<Report> next(double seconds) override {
    if (++reports_ == 30) return BrokenReport{{Code::kIo, "the executor is broken", ""}};
    return PassingExecutor::next(seconds);
  }

 private:
  int reports_ = 0;
};

TEST(PowerLoss, TakesNothingOfAStudyThatBroke) {
  Bench bench;
  std::size_t records = 0;
  {
    FakeExecutor fake = bench.executor(bench.disk, {});
    Breaking broken(fake);
    const auto config = small_study();
    auto engine = Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics,
                                 bench.services(bench.disk, broken));
    ASSERT_TRUE(engine);
    ASSERT_FALSE((*engine)->run());
    records = store::read_log(bench.disk, kFolder)->size();
  }
  lose_all(bench.disk);
  EXPECT_EQ(store::read_log(bench.disk, kFolder)->size(), records);
}

TEST(PowerLoss, LeavesNoWinnerWhoseResultIsLost) {
  const auto config = small_study(1);
  int told = 0;
  for (std::int64_t at = 0;; ++at) {
    Bench bench;
    FaultyFileSystem faulty(bench.disk, {.at = at, .sticky = true, .torn = true, .error = {}});
    if (bench.run(config, kFake, faulty)) break;
    lose_all(bench.disk);
    if (!bench.disk.exists(kFolder + "/best/package.json")) continue;
    ++told;
    ASSERT_TRUE(bench.view().trials.at(0).outcome) << at;
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace lanista::engine
