#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "lanista/engine/core/engine.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

/// Puts a request into control/ when `events` events have happened.
void request_after(Bench& bench, int events, const std::string& request) {
  bench.observer.on_event = [&bench, events, request, seen = 0](const StudyView&, const study::Event&) mutable {
    if (++seen == events) bench.disk.put(kFolder + "/control/" + request, "");
  };
}

std::int64_t requests_logged(Bench& bench, const std::string& request) {
  const auto records = store::read_log(bench.disk, kFolder);
  return std::count_if(records->begin(), records->end(), [&](const store::Record& record) {
    return record.type == store::RecordType::kControl && record.body["request"] == request;
  });
}

TEST(ControlRequests, PauseIsLoggedAndStudyResumesIdentically) {
  Bench undisturbed;
  ASSERT_TRUE(undisturbed.run(small_study(), {}).ok());
  Bench bench;
  request_after(bench, 20, "pause");

  const auto paused = bench.run(small_study(), {});

  ASSERT_TRUE(paused.ok());
  EXPECT_EQ(paused->end, RunEnd::kPaused);
  EXPECT_EQ(requests_logged(bench, "pause"), 1);
  EXPECT_FALSE(bench.disk.exists(kFolder + "/control/pause"));
  bench.observer = {};
  ASSERT_TRUE(bench.resume({}).ok());
  EXPECT_EQ(bench.canonical(), undisturbed.canonical());
}

// `lanista pause` works as soon as the folder of the study is there.
TEST(ControlRequests, PauseBeforeTheFirstStepIsKept) {
  Bench bench;
  const study::StudyConfig config = small_study();
  FakeExecutor fake = bench.executor(bench.disk, {});
  auto engine =
      Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics, bench.services(bench.disk, fake));
  ASSERT_TRUE(engine.ok()) << engine.error().text();
  bench.disk.put(kFolder + "/control/pause", "");

  const auto summary = (*engine)->run();

  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->end, RunEnd::kPaused);
  EXPECT_FALSE(bench.disk.exists(kFolder + "/control/pause"));
}

TEST(ControlRequests, StalePauseIsRemovedOnResume) {
  Bench bench;
  request_after(bench, 20, "pause");
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  bench.disk.put(kFolder + "/control/pause", "");
  bench.observer = {};

  const auto summary = bench.resume({});

  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->end, RunEnd::kDone);
}

TEST(ControlRequests, StopCancelsRunningTrialsAndEndsStudy) {
  Bench bench;
  request_after(bench, 30, "stop");

  const auto summary = bench.run(small_study(), {.workers = 2});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(summary->end, RunEnd::kStoppedByUser);
  const StudyView view = bench.view();
  EXPECT_EQ(view.end_reason, "stopped by the user");
  EXPECT_LT(view.trials.size(), 14U);
  std::int64_t cancelled = 0;
  for (const TrialView& trial : view.trials) {
    ASSERT_TRUE(trial.outcome);
    cancelled += trial.outcome->kind == study::OutcomeKind::kCancelled ? 1 : 0;
  }
  EXPECT_GT(cancelled, 0);
  EXPECT_TRUE(view.winner);
  EXPECT_TRUE(bench.disk.exists(kFolder + "/best/package.json"));
  EXPECT_FALSE(bench.disk.exists(kFolder + "/control/stop"));

  bench.observer = {};
  const std::size_t before = view.trials.size();
  const auto again = bench.resume({}, {.trials = 3});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->reason, "budget");
  EXPECT_EQ(bench.view().trials.size(), before + 3);  // not on to the budget that the stop cut short
  EXPECT_LT(before, 14U);
}

TEST(ControlRequests, StopTrialEndsOnlyThatTrial) {
  Bench bench;
  request_after(bench, 4, "stop-trial-2");

  const auto summary = bench.run(small_study(), {});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  const StudyView view = bench.view();
  EXPECT_EQ(view.trials.size(), 14U);
  EXPECT_EQ(view.trials[1].outcome->kind, study::OutcomeKind::kCancelled);
  EXPECT_EQ(view.trials[1].outcome->reason, "stopped by the user");
  EXPECT_EQ(view.end_reason, "budget");
  EXPECT_EQ(requests_logged(bench, "stop-trial"), 1);
  const auto order = ranking(view);
  EXPECT_EQ(std::count(order.begin(), order.end(), TrialId{2}), 0);
}

TEST(ControlRequests, StopTrialSurvivesCrash) {
  Bench bench;
  request_after(bench, 4, "stop-trial-2");
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  const auto records = store::read_log(bench.disk, kFolder);
  std::string prefix;
  for (const store::Record& record : *records) {
    encode_frame(static_cast<std::uint16_t>(record.type), record.body.dump(), prefix);
    if (record.type == store::RecordType::kControl) break;
  }
  Bench crashed;
  crashed.disk.put(kFolder + "/log/000001.log", prefix);

  ASSERT_TRUE(crashed.resume({}).ok());

  EXPECT_EQ(crashed.view().trials[1].outcome->kind, study::OutcomeKind::kCancelled);
  EXPECT_EQ(crashed.canonical(), bench.canonical());
}

TEST(ControlRequests, IgnoresOtherNamesAndMissingTrials) {
  Bench bench;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    for (const char* name : {"notes.txt", "stop-trial-", "stop-trial-0", "stop-trial-x", "stop-trial-99"}) {
      bench.disk.put(kFolder + "/control/" + name, "");
    }
  };

  const auto summary = bench.run(small_study(), {});

  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->end, RunEnd::kDone);
  EXPECT_TRUE(bench.disk.exists(kFolder + "/control/notes.txt"));
}

TEST(Guard, EndsStudyOverTimeWithReason) {
  Bench bench;
  study::StudyConfig config = small_study(10'000);
  config.budget.guard_minutes = 0.2;  // 12 seconds of the virtual clock

  const auto summary = bench.run(config, {.workers = 2});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(summary->reason, "guard");
  const StudyView view = bench.view();
  EXPECT_EQ(view.end_reason, "guard");
  EXPECT_GE(view.seconds, 12);
  EXPECT_LT(view.seconds, 14);
  EXPECT_TRUE(view.winner);
  EXPECT_EQ(requests_logged(bench, "guard"), 1);
}

TEST(Guard, CountsAllAttemptsAndCanBeExtended) {
  Bench bench;
  study::StudyConfig config = small_study(10'000);
  config.budget.guard_minutes = 0.2;
  request_after(bench, 30, "pause");
  ASSERT_TRUE(bench.run(config, {}).ok());
  const double before = bench.view().seconds;
  ASSERT_GT(before, 1);
  bench.clock.advance(1000);  // no process works
  bench.observer = {};

  const auto guarded = bench.resume({});
  ASSERT_TRUE(guarded.ok());
  EXPECT_EQ(guarded->reason, "guard");
  EXPECT_LT(bench.view().seconds, 14);

  const auto extended = bench.resume({}, {.minutes = 0.1});
  ASSERT_TRUE(extended.ok());
  EXPECT_EQ(extended->reason, "guard");
  EXPECT_GE(bench.view().seconds, 18);
  EXPECT_LT(bench.view().seconds, 20);
}

TEST(Extension, CancelsPendingStop) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  bench.disk.put(kFolder + "/control/stop", "");

  const auto summary = bench.resume({}, {.trials = 3});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(summary->end, RunEnd::kDone);
  EXPECT_EQ(bench.view().trials.size(), 17U);
  EXPECT_EQ(requests_logged(bench, "stop"), 0);
  EXPECT_FALSE(bench.disk.exists(kFolder + "/control/stop"));
}

TEST(ControlRequests, PendingStopIsAppliedOnResume) {
  Bench bench;
  request_after(bench, 20, "pause");
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  bench.observer = {};
  bench.disk.put(kFolder + "/control/stop", "");

  const auto summary = bench.resume({});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(summary->end, RunEnd::kStoppedByUser);
}

TEST(Extension, CountsFromProposedTrials) {
  Bench bench;
  request_after(bench, 20, "pause");
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  const std::size_t proposed = bench.view().trials.size();
  ASSERT_LT(proposed + 2, 14U);
  bench.observer = {};

  const auto summary = bench.resume({}, {.trials = 2});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(bench.view().trials.size(), proposed + 2);
  for (const TrialView& trial : bench.view().trials) EXPECT_TRUE(trial.outcome);
}

TEST(Extension, UsesStepsForStepBudgets) {
  Bench bench;
  study::StudyConfig config = small_study();
  config.budget = {{}, 61, {}};
  ASSERT_TRUE(bench.run(config, {}).ok());
  const StudyView before = bench.view();
  const auto files = bench.disk.files();

  const auto refused = bench.resume({}, {.trials = 3});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("61 steps"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().message.find("--steps"), std::string::npos) << refused.error().text();
  EXPECT_EQ(bench.disk.files(), files);

  ASSERT_TRUE(bench.resume({}, {.steps = 40}).ok());
  const StudyView after = bench.view();
  EXPECT_GT(after.trials.size(), before.trials.size() + 3);
  EXPECT_LE(after.steps, before.steps + 40);
  EXPECT_GT(after.steps, before.steps + 40 - 8);
}

TEST(Extension, RefusesExtensionThatTrainsNothing) {
  Bench guarded;
  study::StudyConfig config = small_study(10'000);
  config.budget.guard_minutes = 0.2;
  ASSERT_TRUE(guarded.run(config, {}).ok());
  const auto by_guard = guarded.resume({}, {.trials = 3});
  ASSERT_FALSE(by_guard.ok());
  EXPECT_NE(by_guard.error().message.find("--minutes"), std::string::npos) << by_guard.error().text();

  Bench spent;
  ASSERT_TRUE(spent.run(small_study(), {}).ok());
  const auto by_trials = spent.resume({}, {.minutes = 3});
  ASSERT_FALSE(by_trials.ok());
  EXPECT_NE(by_trials.error().message.find("all 14 trials"), std::string::npos) << by_trials.error().text();
  EXPECT_NE(by_trials.error().message.find("--trials"), std::string::npos) << by_trials.error().text();
  EXPECT_EQ(spent.view().end_reason, "budget");
}

/// Trials that were trained to their end or to a verdict.
std::int64_t num_trained_epochs(const StudyView& view) {
  return std::count_if(view.trials.begin(), view.trials.end(), [](const TrialView& trial) {
    return trial.outcome && (trial.outcome->kind == study::OutcomeKind::kSucceeded ||
                             trial.outcome->kind == study::OutcomeKind::kStopped);
  });
}

/// Runs a study to its end, and then with the extension that it suggests.
Engine::Extension recommended_after(Bench& bench, const study::StudyConfig& config) {
  FakeExecutor fake = bench.executor(bench.disk, {});
  auto engine =
      Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics, bench.services(bench.disk, fake));
  EXPECT_TRUE(engine.ok());
  EXPECT_TRUE((*engine)->run().ok());
  EXPECT_TRUE((*engine)->view().end_reason);
  return (*engine)->suggested_extension();
}

TEST(Extension, SuggestedExtensionTrainsMore) {
  Bench measured;
  ASSERT_TRUE(measured.run(small_study(8), {}).ok());
  const double minutes = measured.view().seconds / 60;

  std::map<std::string, study::StudyConfig> cases;
  cases["trials"] = small_study(8);
  cases["steps"] = small_study();
  cases["steps"].budget = {{}, 61, {}};
  cases["guard"] = small_study(10'000);
  cases["guard"].budget.guard_minutes = 0.2;
  cases["guard with all trials under way"] = small_study(5);
  cases["guard with all trials under way"].strategy.slots = 8;
  cases["guard with all trials under way"].budget.guard_minutes = 0.01;
  cases["trials just before the guard"] = small_study(8);
  cases["trials just before the guard"].budget.guard_minutes = minutes * 1.01;
  cases["stop"] = small_study();
  cases["stop without a number of trials"] = small_study();
  cases["stop without a number of trials"].budget = {{}, {}, 0.2};
  for (const auto& [name, config] : cases) {
    SCOPED_TRACE(name);
    Bench bench;
    if (name.starts_with("stop")) request_after(bench, 30, "stop");
    const Engine::Extension extension = recommended_after(bench, config);
    bench.observer = {};
    const std::int64_t before = num_trained_epochs(bench.view());
    EXPECT_FALSE(extension.empty());

    const auto summary = bench.resume({}, extension);

    ASSERT_TRUE(summary.ok()) << summary.error().text();
    EXPECT_GT(num_trained_epochs(bench.view()), before);
  }
}

TEST(Extension, IsNotSuggestedForExhaustedSpace) {
  Bench bench;
  study::StudyConfig config = small_study(1000);
  config.strategy = {"grid", 3, {{"grain", 2}}};

  EXPECT_TRUE(recommended_after(bench, config).empty());
}

TEST(Extension, RefusesOversizedExtension) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  const auto files = bench.disk.files();
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const Engine::Extension& wrong :
       std::vector<Engine::Extension>{{.trials = 0},
                                      {.trials = -4},
                                      {.trials = std::numeric_limits<std::int64_t>::max()},
                                      {.trials = 1, .minutes = nan},
                                      {.trials = 1, .minutes = inf},
                                      {.trials = 1, .minutes = -1},
                                      {.trials = 1, .steps = 0},
                                      {.trials = 1, .steps = std::int64_t{1} << 62}}) {
    const auto refused = bench.resume({}, wrong);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(bench.disk.files(), files);
}

}  // namespace
}  // namespace lanista::engine
