// Data that a power loss must not remove. Each test checks one promise and its sync. tests/power_proof checks all
// orders of losses.
#include <gtest/gtest.h>

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/package.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using store::RecordType;
using testing::Bench;
using testing::ForwardingExecutor;
using testing::kFolder;
using testing::small_study;

const FakeOptions kFake{.workers = 2, .checkpoint_one_in = 2};

/// Everything that was not synced is gone.
void lose_power_completely(MemoryFileSystem& disk) { disk.simulate_power_loss(PowerLoss::kAll, Rng(1)); }

TEST(PowerLoss, KeepsEndedStudy) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), kFake));
  const std::string canonical = bench.canonical();
  const auto best = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(best);

  lose_power_completely(bench.disk);

  EXPECT_EQ(bench.canonical(), canonical);
  EXPECT_EQ(bench.view().end_reason, "budget");
  const auto left = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(left) << left.error().text();
  EXPECT_EQ(left->facts, best->facts);
}

TEST(PowerLoss, KeepsPausedStudy) {
  Bench bench;
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 25) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), kFake));
  const auto records = store::read_log(bench.disk, kFolder)->size();
  bench.pause = 0;

  lose_power_completely(bench.disk);

  EXPECT_EQ(store::read_log(bench.disk, kFolder)->size(), records);
  ASSERT_TRUE(bench.resume(kFake));
  for (const LogEvent& event : bench.sink.events()) EXPECT_NE(event.event, "checkpoint_lost");
}

TEST(PowerLoss, KeepsFoldersOfNewStudy) {
  Bench bench;
  {
    FakeExecutor fake = bench.executor(bench.disk, {});
    const auto config = small_study();
    ASSERT_TRUE(Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics,
                               bench.services(bench.disk, fake)));
  }
  lose_power_completely(bench.disk);

  for (const char* name : {"/log", "/control", "/ckpt", "/config.resolved.yaml", "/README.txt"}) {
    EXPECT_TRUE(bench.disk.exists(kFolder + name)) << name;
  }
  EXPECT_TRUE(bench.resume(kFake));
}

TEST(PowerLoss, KeepsFoldersMadeByResume) {
  Bench bench;
  bench.observer.on_event = [&](const StudyView& view, const study::Event&) {
    if (view.trials.size() == 5) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), kFake));
  bench.pause = 0;
  Bench moved;  // without its empty folders, as archives leave a study
  testing::copy_except_best(bench.disk, moved.disk);
  {
    FakeExecutor fake = moved.executor(moved.disk, {});
    ASSERT_TRUE(Engine::resume(kFolder, {}, moved.numerics, moved.services(moved.disk, fake)));
  }
  lose_power_completely(moved.disk);

  EXPECT_TRUE(moved.disk.exists(kFolder + "/control"));
}

TEST(PowerLoss, KeepsAppliedExtension) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(4), kFake));
  bench.pause = 15;
  const auto paused = bench.resume(kFake, {.trials = 3});
  ASSERT_TRUE(paused);
  ASSERT_EQ(paused->end, RunEnd::kPaused);
  bench.pause = 0;
  lose_power_completely(bench.disk);

  ASSERT_TRUE(bench.resume(kFake));
  EXPECT_EQ(bench.view().trials.size(), 7U);
}

/// Runs a study with a stop request; returns whether the request was made.
bool run_until_stopped(Bench& bench, FileSystem& fs) {
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 12) bench.disk.put(kFolder + "/control/stop", "");
  };
  static_cast<void>(bench.run(small_study(6), kFake, fs));
  bench.observer = {};
  return events >= 12;
}

TEST(PowerLoss, DoesNotRestoreRequests) {
  Bench bench;
  ASSERT_TRUE(run_until_stopped(bench, bench.disk));
  EXPECT_EQ(bench.view().end_reason, "stopped by the user");

  lose_power_completely(bench.disk);

  EXPECT_FALSE(bench.disk.exists(kFolder + "/control/stop"));
  ASSERT_TRUE(bench.resume(kFake, {2, {}}));
  EXPECT_EQ(bench.view().end_reason, "budget");
}

TEST(PowerLoss, KeepsRemovedRequests) {
  int taken = 0;
  for (std::int64_t at = 0;; ++at) {
    Bench bench;
    FaultyFileSystem faulty(bench.disk, {.at = at, .sticky = true, .torn = true, .error = {}});
    const bool asked = run_until_stopped(bench, faulty);
    if (faulty.calls() <= at) break;
    if (!asked || bench.disk.exists(kFolder + "/control/stop")) continue;
    ++taken;
    lose_power_completely(bench.disk);
    const auto records = store::read_log(bench.disk, kFolder);
    ASSERT_TRUE(std::any_of(records->begin(), records->end(), [](const store::Record& record) {
      return record.type == RecordType::kControl && record.body.at("request") == "stop";
    })) << at;
  }
  EXPECT_GT(taken, 1);
}

/// Sends nothing for a while, as in a long epoch.
class SilentExecutor final : public ForwardingExecutor {
 public:
  SilentExecutor(Executor& inner, VirtualClock& clock) : ForwardingExecutor(inner), clock_(clock) {}
  std::optional<Report> next(double seconds) override {
    if (quiet == 0) return ForwardingExecutor::next(seconds);
    --quiet;
    clock_.advance(seconds);
    return std::nullopt;
  }
  int quiet = 0;

 private:
  VirtualClock& clock_;
};

TEST(PowerLoss, KeepsRecordsOlderThanOneSecondWhenIdle) {
  Bench bench;
  FakeExecutor fake = bench.executor(bench.disk, {});
  SilentExecutor executor(fake, bench.clock);
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

/// Fails after so many reports.
class Breaking final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  std::optional<Report> next(double seconds) override {
    if (++reports_ == 30) return ExecutorErrorReport{{Code::kIo, "the executor is broken", ""}};
    return ForwardingExecutor::next(seconds);
  }

 private:
  int reports_ = 0;
};

TEST(PowerLoss, KeepsFailedStudy) {
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
  lose_power_completely(bench.disk);
  EXPECT_EQ(store::read_log(bench.disk, kFolder)->size(), records);
}

TEST(PowerLoss, LeavesNoWinnerWithALostResult) {
  const auto config = small_study(1);
  int has_reported = 0;
  for (std::int64_t at = 0;; ++at) {
    Bench bench;
    FaultyFileSystem faulty(bench.disk, {.at = at, .sticky = true, .torn = true, .error = {}});
    if (bench.run(config, kFake, faulty)) break;
    lose_power_completely(bench.disk);
    if (!bench.disk.exists(kFolder + "/best/package.json")) continue;
    ++has_reported;
    ASSERT_TRUE(bench.view().trials.at(0).outcome) << at;
  }
  EXPECT_GT(has_reported, 0);
}

}  // namespace
}  // namespace lanista::engine
