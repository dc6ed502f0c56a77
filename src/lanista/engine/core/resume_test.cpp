#include <gtest/gtest.h>

#include "lanista/base/frame.h"
#include "lanista/engine/core/engine.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

const FakeOptions kUsualFaults{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6, .nan_one_in = 6};

struct Reference {
  Bench bench;
  std::string canonical;
  std::string weights;
  explicit Reference(const study::StudyConfig& config = small_study()) {
    const auto summary = bench.run(config, kUsualFaults);
    LANISTA_CHECK(summary.ok(), summary ? "" : summary.error().text());
    canonical = bench.canonical();
    weights = *bench.disk.read(kFolder + "/best/weights.safetensors");
  }
};

void expect_same(Bench& bench, const Reference& reference, const std::string& what) {
  ASSERT_EQ(bench.canonical(), reference.canonical) << what;
  ASSERT_EQ(*bench.disk.read(kFolder + "/best/weights.safetensors"), reference.weights) << what;
}

/// The files on the disk before every change of a file, as a kill would leave them, with the current checkpoints.
std::vector<testing::Files> snapshots_at_every_change(const study::StudyConfig& config) {
  Bench bench;
  return testing::snapshots_of(bench, [&](FileSystem& fs) { return bench.run(config, kUsualFaults, fs); });
}

TEST(Resume, ResumesIdenticallyAfterKillAtAnyRecord) {
  Reference reference;
  const auto snapshots = snapshots_at_every_change(small_study());
  std::uint64_t cut = 0;
  std::set<std::size_t> checkpoints;
  for (const testing::Files& moment : testing::with_torn_records(snapshots)) {
    Bench bench;
    testing::put_all(bench.disk, moment);
    checkpoints.insert(static_cast<std::size_t>(
        std::distance(moment.lower_bound(kFolder + "/ckpt/"), moment.lower_bound(kFolder + "/ckpt0"))));
    FakeOptions options = kUsualFaults;
    options.seed = ++cut;
    options.workers = static_cast<std::int64_t>(cut % 3) + 1;

    const auto summary = bench.resume(options);

    ASSERT_TRUE(summary.ok()) << "cut " << cut << ": " << summary.error().text();
    expect_same(bench, reference, "cut " + std::to_string(cut));
  }
  EXPECT_GT(cut, 200U);
  EXPECT_GT(checkpoints.size(), 3U) << "the number of checkpoints changes on the way";
}

TEST(Resume, ResumesIdenticallyAfterAnyFailedWrite) {
  const study::StudyConfig config = small_study(8);
  Reference reference(config);
  const auto calls = [&] {
    Bench bench;
    FaultyFileSystem counting(bench.disk, {});
    LANISTA_CHECK(bench.run(config, kUsualFaults, counting).ok(), "nothing fails here");
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
      const auto summary = bench.run(config, kUsualFaults, faulty);
      ASSERT_FALSE(summary.ok()) << "call " << n << " failed without an error";
      ASSERT_EQ(summary.error().code, Code::kResourceExhausted) << summary.error().text();
    }
    FakeOptions options = kUsualFaults;
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

TEST(Resume, ResumesIdenticallyAfterAnyPause) {
  Reference reference;
  for (int after = 1; after < 60; after += 3) {
    Bench bench;
    int events = 0;
    bench.observer.on_event = [&](const StudyView&, const study::Event&) {
      if (++events % after == 0) bench.pause = 15;
    };
    FakeOptions options = kUsualFaults;
    auto summary = bench.run(small_study(), options);
    int pauses = 0;
    while (summary.ok() && summary->end == RunEnd::kPaused) {
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

TEST(Resume, StartsFromCheckpointsWithoutRepetition) {
  const FakeOptions options{.workers = 2};
  const study::StudyConfig config = small_study();
  const auto run = [&](Bench& bench, bool fresh) -> FakeExecutor {
    FakeExecutor fake = bench.executor(bench.disk, options);
    auto engine = fresh ? Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics,
                                         bench.services(bench.disk, fake))
                        : Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, fake));
    LANISTA_CHECK(engine.ok() && (*engine)->run().ok(), "nothing fails here");
    return fake;
  };
  Bench undisturbed;
  const std::int64_t epochs = run(undisturbed, true).epochs_run();

  for (int after = 5; after < 60; after += 5) {
    Bench bench;
    bench.observer.on_event = [&, events = 0](const StudyView&, const study::Event&) mutable {
      if (++events == after) bench.pause = 15;
    };
    const std::int64_t before = run(bench, true).epochs_run();
    bench.pause = 0;
    bench.observer = {};
    std::map<TrialId, std::string> last;
    const auto records = store::read_log(bench.disk, kFolder);
    for (const store::Record& record : *records) {
      if (record.type != store::RecordType::kCheckpoint && record.type != store::RecordType::kOutcome) continue;
      last[TrialId{record.body["trial"].get<std::uint32_t>()}] = record.body.value("address", "");
    }
    std::vector<std::string> wanted;
    for (const auto& [trial, address] : last) {
      if (!address.empty()) wanted.push_back(address);
    }

    const FakeExecutor resumed = run(bench, false);

    EXPECT_FALSE(wanted.empty());
    auto seen = resumed.resumed_from();
    std::ranges::sort(seen);
    std::ranges::sort(wanted);
    EXPECT_EQ(seen, wanted) << "paused after " << after << " events";
    EXPECT_EQ(before + resumed.epochs_run(), epochs) << "paused after " << after << " events";
    EXPECT_EQ(bench.canonical(), undisturbed.canonical());
  }
}

TEST(Resume, RestartsTrialWithDamagedCheckpoint) {
  Reference reference;
  Bench bench;
  int events = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    if (++events == 25) bench.pause = 15;
  };
  ASSERT_TRUE(bench.run(small_study(), kUsualFaults).ok());
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

  ASSERT_TRUE(bench.resume(kUsualFaults).ok());

  expect_same(bench, reference, "damaged checkpoints");
  const auto events_seen = bench.sink.events();
  EXPECT_EQ(std::count_if(events_seen.begin(), events_seen.end(),
                          [](const LogEvent& event) { return event.event == "checkpoint_lost"; }),
            damaged);
}

TEST(Resume, DoesNothingForEndedStudy) {
  Reference reference;
  const auto files = reference.bench.disk.files();

  const auto summary = reference.bench.resume({});

  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->end, RunEnd::kDone);
  EXPECT_EQ(summary->reason, "budget");
  EXPECT_EQ(reference.bench.disk.files(), files);
}

std::int64_t num_warnings(Bench& bench, const std::string& name) {
  const auto events = bench.sink.events();
  return std::count_if(events.begin(), events.end(), [&](const LogEvent& event) { return event.event == name; });
}

TEST(Resume, RebuildsLostPackageByRetraining) {
  for (const std::string lost : {"the package", "the package and its weights", "a file of the package"}) {
    Reference reference;
    Bench bench;
    const std::string weights =
        kFolder + "/ckpt/" + reference.bench.view().trials[reference.bench.view().winner->value - 1].outcome->weights +
        ".safetensors";
    testing::Files files = reference.bench.disk.files();
    const testing::Files whole = files;
    ASSERT_EQ(files.count(weights), 1U);
    if (lost == "a file of the package") {
      files[kFolder + "/best/weights.safetensors"].pop_back();
    } else {
      std::erase_if(files, [](const auto& file) { return file.first.starts_with(kFolder + "/best/"); });
      if (lost == "the package and its weights") files.erase(weights);
    }
    testing::put_all(bench.disk, files);

    const auto summary = bench.resume(kUsualFaults);

    ASSERT_TRUE(summary.ok()) << lost << ": " << summary.error().text();
    EXPECT_EQ(bench.disk.files(), whole) << lost;
    EXPECT_EQ(num_warnings(bench, "package_lost"), 1) << lost;
    EXPECT_EQ(num_warnings(bench, "weights_lost"), lost == "the package and its weights" ? 1 : 0) << lost;
  }
}

TEST(Resume, RetrainsWinnerWithLostWeights) {
  Reference reference;
  const TrialView winner = reference.bench.view().trials[reference.bench.view().winner->value - 1];
  for (const bool damaged : {false, true}) {
    Bench bench;
    testing::copy_except_best(reference.bench.disk, bench.disk);
    const std::string path = kFolder + "/ckpt/" + winner.outcome->weights + ".safetensors";
    const std::string bytes = *bench.disk.read(path);
    if (damaged) {
      bench.disk.put(path, bytes.substr(1));
    } else {
      ASSERT_TRUE(bench.disk.remove(path).ok());
    }

    // An extension continues although this winner may not remain the best.
    const auto summary = bench.resume(kUsualFaults, {.trials = 1});

    ASSERT_TRUE(summary.ok()) << summary.error().text();
    ASSERT_EQ(bench.view().winner, winner.id);
    EXPECT_EQ(*bench.disk.read(path), bytes);
    EXPECT_EQ(num_warnings(bench, "weights_lost"), 1);
    EXPECT_EQ(*bench.disk.read(kFolder + "/best/weights.safetensors"), reference.weights);
  }
}

TEST(Resume, SelectsNextBestForUntrainableWinner) {
  Reference reference;
  const auto best = ranking(reference.bench.view());
  const TrialView winner = reference.bench.view().trials[best[0].value - 1];
  Bench bench;
  testing::copy_except_best(reference.bench.disk, bench.disk);
  ASSERT_TRUE(bench.disk.remove(kFolder + "/ckpt/" + winner.outcome->weights + ".safetensors").ok());
  FakeOptions another_machine = kUsualFaults;
  another_machine.salt = 1;  // that trains to other bits

  const auto summary = bench.resume(another_machine, {.trials = 1});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(num_warnings(bench, "winner_lost"), 1);
  EXPECT_NE(bench.view().winner, best[0]);
  EXPECT_TRUE(bench.disk.exists(kFolder + "/best/package.json"));
}

TEST(Resume, ExtendsAnEndedStudyByTrials) {
  Reference reference;

  const auto summary = reference.bench.resume(kUsualFaults, {.trials = 6});

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

TEST(Resume, RefusesUnresumableStudies) {
  Bench bench;
  FakeExecutor fake = bench.executor(bench.disk, {});
  const auto nothing = Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, fake));
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kNotFound);

  const auto config = small_study();
  const auto running =
      Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics, bench.services(bench.disk, fake));
  ASSERT_TRUE(running.ok());
  const auto second = Engine::resume(kFolder, {}, bench.numerics, bench.services(bench.disk, fake));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kUnavailable);
}

TEST(Resume, RefusesOtherData) {
  Reference reference;
  reference.bench.data.hash = hash_text("other data");

  const auto refused = reference.bench.resume({}, {.trials = 1});

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
}

TEST(StoredConfig, IsWhatTheStudyWasStartedWith) {
  Reference reference;
  const auto config = stored_config(reference.bench.disk, kFolder);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(studyfile::write_study(*config), studyfile::write_study(small_study()));
  EXPECT_EQ(stored_config(reference.bench.disk, "/nowhere").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace lanista::engine
