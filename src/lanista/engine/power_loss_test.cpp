// What a power cut may not take: each test stands for a promise, and for the sync behind it. That no order of losses
// breaks a study is shown by tests/power_proof.
#include <gtest/gtest.h>

#include "lanista/engine/engine.h"
#include "lanista/engine/package.h"
#include "lanista/engine/study_file.h"
#include "lanista/engine/test_support.h"

namespace lanista::engine {
namespace {

using store::RecordType;
using testing::Bench;
using testing::kFolder;
using testing::small_study;

const FakeOptions kFake{.workers = 2, .checkpoint_one_in = 2};

/// Everything that was not synced is gone.
void lose_all(MemoryFileSystem& disk) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) disk.lose_power(PowerLoss::kBytes, Rng(seed));
  disk.lose_power(PowerLoss::kNames, Rng(1));
}

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
    ASSERT_TRUE(Engine::create(kFolder, config, write_study(config), bench.numerics, bench.services(bench.disk, fake)));
  }
  lose_all(bench.disk);

  for (const char* name : {"/log", "/control", "/ckpt", "/config.resolved.yaml", "/README.txt"}) {
    EXPECT_TRUE(bench.disk.exists(kFolder + name)) << name;
  }
  EXPECT_TRUE(bench.resume(kFake));
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

TEST(PowerLoss, TakesNoRequestThatWasTakenAwayAndBringsNoneBack) {
  Bench bench;
  int events = 0;
  bool seen = false;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 12) bench.disk.put(kFolder + "/control/stop", "");
  };
  bench.observer.on_idle = [&](const StudyView&) {
    // A moment at which the request is gone: it must be in the log whatever happens now.
    if (seen || events < 12 || bench.disk.exists(kFolder + "/control/stop")) return;
    seen = true;
    const std::string log = bench.disk.synced(kFolder + "/log/000001.log");
    EXPECT_NE(log.find("\"request\":\"stop\""), std::string::npos);
  };
  FakeOptions slow = kFake;
  slow.checkpoint_one_in = 0;
  ASSERT_TRUE(bench.run(small_study(), slow));
  EXPECT_EQ(bench.view().end_reason, "stopped by the user");

  lose_all(bench.disk);

  EXPECT_FALSE(bench.disk.exists(kFolder + "/control/stop"));
  bench.observer = {};
  ASSERT_TRUE(bench.resume(kFake, {2, {}}));
  EXPECT_EQ(bench.view().end_reason, "budget");
}

/// Says nothing for a while, as in a long epoch.
class Silent final : public Executor {
 public:
  explicit Silent(FakeExecutor inner) : inner_(std::move(inner)) {}
  Result<void> start(const Job& job) override { return inner_.start(job); }
  void command(const Command& command) override { inner_.command(command); }
  std::optional<Report> next(double seconds) override {
    if (quiet > 0) {
      --quiet;
      clock->advance(seconds);
      return std::nullopt;
    }
    return inner_.next(seconds);
  }
  Result<std::map<std::string, double>> test(const Job& job, const std::string& weights) override {
    return inner_.test(job, weights);
  }

  int quiet = 0;
  VirtualClock* clock = nullptr;

 private:
  FakeExecutor inner_;
};

TEST(PowerLoss, TakesNothingThatIsOlderThanASecondThoughNothingHappens) {
  Bench bench;
  Silent executor(bench.executor(bench.disk, {}));
  executor.clock = &bench.clock;
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
  auto engine =
      Engine::create(kFolder, config, write_study(config), bench.numerics, bench.services(bench.disk, executor));
  ASSERT_TRUE(engine);
  ASSERT_TRUE((*engine)->run());
  EXPECT_GE(events, 1000) << "the silence was looked into";
}

/// Breaks after so many reports.
class Breaking final : public Executor {
 public:
  explicit Breaking(FakeExecutor inner) : inner_(std::move(inner)) {}
  Result<void> start(const Job& job) override { return inner_.start(job); }
  void command(const Command& command) override { inner_.command(command); }
  std::optional<Report> next(double seconds) override {
    if (++reports_ == 30) return BrokenReport{{Code::kIo, "the executor is broken", ""}};
    return inner_.next(seconds);
  }
  Result<std::map<std::string, double>> test(const Job& job, const std::string& weights) override {
    return inner_.test(job, weights);
  }

 private:
  FakeExecutor inner_;
  int reports_ = 0;
};

TEST(PowerLoss, TakesNothingOfAStudyThatBroke) {
  Bench bench;
  std::size_t records = 0;
  {
    Breaking broken(bench.executor(bench.disk, {}));
    const auto config = small_study();
    auto engine =
        Engine::create(kFolder, config, write_study(config), bench.numerics, bench.services(bench.disk, broken));
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
