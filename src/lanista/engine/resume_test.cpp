#include <gtest/gtest.h>

#include "lanista/base/frame.h"
#include "lanista/engine/engine.h"
#include "lanista/engine/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

const FakeOptions kUndisturbed{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6, .nan_one_in = 6};

struct Reference {
  Bench bench;
  std::string canonical;
  std::string weights;
  explicit Reference(const study::StudyConfig& config = small_study()) {
    const auto summary = bench.run(config, kUndisturbed);
    LANISTA_CHECK(summary.ok(), summary ? "" : summary.error().text());
    canonical = bench.canonical();
    weights = *bench.disk.read(kFolder + "/best/weights.safetensors");
  }
};

void expect_same(Bench& bench, const Reference& reference, const std::string& what) {
  ASSERT_EQ(bench.canonical(), reference.canonical) << what;
  ASSERT_EQ(*bench.disk.read(kFolder + "/best/weights.safetensors"), reference.weights) << what;
}

TEST(Resume, GoesOnIdenticallyAfterAKillBehindAnyRecord) {
  Reference reference;
  const std::string path = kFolder + "/log/000001.log";
  const std::string log = *reference.bench.disk.read(path);
  const FrameScan scan = decode_frames(log);
  std::string prefix;
  std::uint64_t cut = 0;
  bool ended = false;
  for (const Frame& frame : scan.frames) {
    encode_frame(frame.type, frame.payload, prefix);
    ended |= frame.type == static_cast<std::uint16_t>(store::RecordType::kStudyEnd);
    for (const bool torn : {false, true}) {
      if (prefix.size() + 5 > log.size() && torn) continue;
      Bench bench;
      testing::copy_without_best(reference.bench.disk,
                                 bench.disk);  // the weights of the best are there before their records
      bench.disk.put(path, torn ? log.substr(0, prefix.size() + 5) : prefix);
      FakeOptions options = kUndisturbed;
      options.seed = ++cut;
      options.workers = static_cast<std::int64_t>(cut % 3) + 1;

      const auto summary = bench.resume(options);

      ASSERT_TRUE(summary.ok()) << "cut behind byte " << prefix.size() << ": " << summary.error().text();
      if (ended) continue;  // best/ was not copied
      expect_same(bench, reference, "cut behind byte " + std::to_string(prefix.size()));
    }
  }
  EXPECT_GT(cut, 150U);
}

TEST(Resume, GoesOnIdenticallyAfterAnyWriteHasFailed) {
  const study::StudyConfig config = small_study(8);
  Reference reference(config);
  const auto calls = [&] {
    Bench bench;
    FaultyFileSystem counting(bench.disk, {});
    LANISTA_CHECK(bench.run(config, kUndisturbed, counting).ok(), "nothing fails here");
    return counting.calls();
  }();
  ASSERT_GT(calls, 60);
  for (std::int64_t n = 0; n < calls; ++n) {
    Bench bench;
    FaultyFileSystem::Fault fault;
    fault.at = n;
    fault.torn = n % 2 == 0;
    {
      FaultyFileSystem faulty(bench.disk, fault);
      const auto summary = bench.run(config, kUndisturbed, faulty);
      ASSERT_FALSE(summary.ok()) << "call " << n << " failed and nobody noticed";
      ASSERT_EQ(summary.error().code, Code::kResourceExhausted) << summary.error().text();
    }
    FakeOptions options = kUndisturbed;
    options.seed = static_cast<std::uint64_t>(n);
    auto summary = bench.run(config, options);  // where the study had not begun, it begins now
    if (!summary) {
      ASSERT_EQ(summary.error().code, Code::kAlreadyExists) << "call " << n << ": " << summary.error().text();
      summary = bench.resume(options);
    }
    ASSERT_TRUE(summary.ok()) << "call " << n << ": " << summary.error().text();
    expect_same(bench, reference, "failed call " + std::to_string(n));
  }
}

TEST(Resume, GoesOnIdenticallyAfterPausesAnywhere) {
  Reference reference;
  for (int after = 1; after < 60; after += 3) {
    Bench bench;
    int events = 0;
    bench.observer.on_event = [&](const StudyView&, const study::Event&) {
      if (++events % after == 0) bench.pause = 15;
    };
    FakeOptions options = kUndisturbed;
    auto summary = bench.run(small_study(), options);
    int pauses = 0;
    while (summary.ok() && summary->end == End::kPaused) {
      EXPECT_EQ(bench.pause.load(), 15);
      bench.pause = 0;
      options.seed = static_cast<std::uint64_t>(++pauses);
      ASSERT_LT(pauses, 200);
      summary = bench.resume(options);
    }
    ASSERT_TRUE(summary.ok()) << summary.error().text();
    EXPECT_GT(pauses, 0);
    expect_same(bench, reference, "pauses every " + std::to_string(after) + " events");
  }
}

TEST(Resume, StartsFromCheckpointsAndDoesNotRepeatWhatTheyHold) {
  Bench bench;
  FakeOptions options = kUndisturbed;
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 25) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), options).ok());
  bench.pause = 0;
  FakeExecutor fake = bench.executor(bench.disk, options);
  auto engine = Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, fake));
  ASSERT_TRUE(engine.ok());
  ASSERT_TRUE((*engine)->run().ok());
  EXPECT_FALSE(fake.resumed_from().empty());
}

TEST(Resume, BeginsATrialAnewWhenItsCheckpointIsDamaged) {
  Reference reference;
  Bench bench;
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 25) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), kUndisturbed).ok());
  bench.pause = 0;
  const StudyView paused = bench.view();
  // Checkpoints of running trials, not the weights of finished ones.
  std::set<std::string> weights;
  for (const TrialView& trial : paused.trials) {
    if (trial.outcome) weights.insert(kFolder + "/ckpt/" + trial.outcome->weights + ".safetensors");
  }
  int damaged = 0;
  for (auto [path, content] : bench.disk.files()) {
    if (!path.starts_with(kFolder + "/ckpt/") || weights.contains(path)) continue;
    content.back() = static_cast<char>(content.back() ^ 1);
    bench.disk.put(path, content);
    ++damaged;
  }
  ASSERT_GT(damaged, 0);

  ASSERT_TRUE(bench.resume(kUndisturbed).ok());

  expect_same(bench, reference, "damaged checkpoints");
  const auto events_seen = bench.sink.events();
  EXPECT_EQ(std::count_if(events_seen.begin(), events_seen.end(),
                          [](const LogEvent& event) { return event.event == "checkpoint_lost"; }),
            damaged);
}

TEST(Resume, OfAnEndedStudyChangesNothing) {
  Reference reference;
  const auto files = reference.bench.disk.files();

  const auto summary = reference.bench.resume({});

  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->end, End::kDone);
  EXPECT_EQ(summary->reason, "budget");
  EXPECT_EQ(reference.bench.disk.files(), files);
}

TEST(Resume, ExtendsAnEndedStudyByTrials) {
  Reference reference;

  const auto summary = reference.bench.resume(kUndisturbed, {6, {}});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  const StudyView view = reference.bench.view();
  EXPECT_EQ(view.trials.size(), 20U);
  EXPECT_EQ(view.end_reason, "budget");
  EXPECT_EQ(view.winner, ranking(view).front());
  for (const TrialView& trial : view.trials) EXPECT_TRUE(trial.outcome);
}

TEST(Resume, LogsOtherNumericsAndWarns) {
  Bench bench;
  bench.observer.on_event = [&](const StudyView& view, const study::Event&) {
    if (view.trials.size() == 5) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  bench.pause = 0;
  bench.observer = {};
  bench.numerics["class"] = "another machine";

  ASSERT_TRUE(bench.resume({}).ok());

  const auto events = bench.sink.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const LogEvent& event) {
    return event.event == "numerics_changed" && event.level == Level::kWarning;
  }));
  const auto records = store::read_log(bench.disk, kFolder);
  EXPECT_EQ(std::count_if(records->begin(), records->end(),
                          [](const store::Record& r) { return r.type == store::RecordType::kNumerics; }),
            2);
}

TEST(Resume, RefusesWhatItCannotContinue) {
  Bench bench;
  FakeExecutor fake = bench.executor(bench.disk, {});
  const auto nothing = Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, fake));
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kNotFound);

  const auto config = small_study();
  const auto running =
      Engine::create(kFolder, config, write_study(config), bench.numerics, bench.services(bench.disk, fake));
  ASSERT_TRUE(running.ok());
  const auto second = Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, fake));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kUnavailable);
}

TEST(Resume, RefusesOtherData) {
  Reference reference;
  reference.bench.data.hash = hash_text("other data");

  const auto refused = reference.bench.resume({}, {1, {}});

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
}

TEST(StoredConfig, IsWhatTheStudyWasStartedWith) {
  Reference reference;
  const auto config = stored_config(reference.bench.disk, kFolder);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(write_study(*config), write_study(small_study()));
  EXPECT_EQ(stored_config(reference.bench.disk, "/nowhere").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace lanista::engine
