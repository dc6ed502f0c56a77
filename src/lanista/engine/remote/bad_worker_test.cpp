// Workers that report what is wrong or never answer: they are dropped, and the trials and the other workers continue.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "support/engine/remote/crashing_executor.h"

namespace lanista::engine::testing {
namespace {

/// A fake executor with behaviour that a test changes.
struct Misbehaviour {
  std::function<void(Report&)> report = {};
  bool ignores_pauses = false;
  bool ignores_questions = false;
};

class MisbehavingExecutor final : public ForwardingExecutor {
 public:
  MisbehavingExecutor(std::unique_ptr<FakeExecutor> fake, Misbehaviour misbehaviour)
      : ForwardingExecutor(*fake), fake_(std::move(fake)), misbehaviour_(std::move(misbehaviour)) {}
  void command(const Command& command) override {
    if (misbehaviour_.ignores_pauses && std::holds_alternative<PauseAll>(command)) return;
    ForwardingExecutor::command(command);
  }
  std::optional<Report> next(double seconds) override {
    auto report = ForwardingExecutor::next(seconds);
    if (report && misbehaviour_.report) misbehaviour_.report(*report);
    return report;
  }
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) override {
    while (misbehaviour_.ignores_questions) ::pause();  // its heart beats on
    return ForwardingExecutor::measure(members, part);
  }

 private:
  std::unique_ptr<FakeExecutor> fake_;
  Misbehaviour misbehaviour_;
};

class BadWorkerTest : public ProcessExecutorTest {
 protected:
  static MakeWorkerExecutor worker(Misbehaviour misbehaviour) {
    return [misbehaviour](const WorkerConfig& worker_config, const ReportActiveTrials&) {
      const store::CheckpointStore files(real_file_system(), worker_config.study_folder);
      auto fake = std::make_unique<FakeExecutor>(FakeOptions{.workers = 2, .checkpoint_one_in = 2}, files);
      return Result<std::shared_ptr<Executor>>(std::make_shared<MisbehavingExecutor>(std::move(fake), misbehaviour));
    };
  }
  /// Two workers; every process of the second one behaves so.
  std::unique_ptr<ProcessExecutor> executor_with_bad_worker(const Misbehaviour& misbehaviour,
                                                            double lease_seconds = 20) {
    WorkerConfig worker_config;
    worker_config.study_folder = folder_;
    worker_config.workers = 2;
    ProcessOptions how;
    how.lease_seconds = lease_seconds;
    const auto launch = [](const MakeWorkerExecutor& make) {
      return launch_function([make](const std::string& socket) { static_cast<void>(run_worker(socket, make)); });
    };
    how.remote_launchers = {{"good", launch(worker({}))}, {"bad", launch(worker(misbehaviour))}};
    return *ProcessExecutor::create(worker_config, real_file_system(), clock_, how);
  }
  /// Until both workers are there, so that each gets trials.
  static void wait_for_both(ProcessExecutor& executor) {
    ASSERT_TRUE(executor.start(short_job(1)));
    for (int came = 0; came < 2;) {
      const auto report = executor.next(60);
      ASSERT_TRUE(report);
      const auto* worker = std::get_if<WorkerReport>(&*report);
      if (worker != nullptr && worker->has_started) ++came;
    }
  }
  void expect_dropped(const Misbehaviour& misbehaviour, const std::string& what) {
    auto executor = executor_with_bad_worker(misbehaviour);
    wait_for_both(*executor);
    const TrialEnds ends = train(*executor, 6);
    EXPECT_FALSE(ends.broken) << ends.broken->message;
    EXPECT_EQ(ends.hashes, expected_hashes(6));
    for (std::uint32_t id = 1; id <= 6; ++id) expect_whole(ends, TrialId{id});
    ASSERT_FALSE(ends.lost.empty());
    for (const WorkerReport& lost : ends.lost) {
      EXPECT_TRUE(lost.is_dropped);
      EXPECT_TRUE(lost.reason.starts_with("(bad) was dropped: it ")) << lost.reason;
      EXPECT_NE(lost.reason.find(what), std::string::npos) << lost.reason;
    }
  }
};

TEST_F(BadWorkerTest, IsDroppedForACheckpointAddress) {
  expect_dropped({.report =
                      [](Report& report) {
                        if (auto* saved = std::get_if<CheckpointReport>(&report)) saved->address = "../../victim";
                      }},
                 "checkpoint address '../../victim'");
}

TEST_F(BadWorkerTest, IsDroppedForAMissingCheckpoint) {
  expect_dropped({.report =
                      [](Report& report) {
                        auto* saved = std::get_if<CheckpointReport>(&report);
                        if (saved != nullptr) saved->address = std::string(32, 'a');
                      }},
                 "is no file of the study's ckpt folder");
}

TEST_F(BadWorkerTest, IsDroppedForAnEpochBeyondTheBudget) {
  expect_dropped({.report =
                      [](Report& report) {
                        auto* epoch = std::get_if<EpochReport>(&report);
                        if (epoch != nullptr && epoch->measurement.epoch == 2) epoch->measurement.epoch = 900;
                      }},
                 "reported epoch 900");
}

TEST_F(BadWorkerTest, IsDroppedForATrialThatItDoesNotHave) {
  expect_dropped({.report =
                      [](Report& report) {
                        if (auto* epoch = std::get_if<EpochReport>(&report)) epoch->measurement.trial = TrialId{77};
                      }},
                 "reported trial 77");
}

TEST_F(BadWorkerTest, IsDroppedForAnUnrequestedPause) {
  expect_dropped({.report = [](Report& report) { report = AllPausedReport{}; }}, "a pause that was not requested");
}

TEST_F(BadWorkerTest, LosesItsTrialsIfStopped) {
  auto executor = executor_with_bad_worker({.report = [](Report&) { ::raise(SIGSTOP); }}, 2);
  wait_for_both(*executor);
  const TrialEnds ends = train(*executor, 6);
  EXPECT_EQ(ends.hashes, expected_hashes(6));
  ASSERT_FALSE(ends.lost.empty());
  EXPECT_FALSE(ends.lost.front().is_dropped);
}

TEST_F(BadWorkerTest, EndsTheStudyOnlyIfNoOtherWorks) {
  auto executor = make(2, 20, worker({.report = [](Report& report) { report = AllPausedReport{}; }}));
  const TrialEnds ends = train(*executor, 3);
  ASSERT_TRUE(ends.broken);
  EXPECT_EQ(ends.broken->code, Code::kUnavailable);
  EXPECT_NE(ends.broken->message.find("worker processes send wrong messages: the last one was dropped: it reported"),
            std::string::npos)
      << ends.broken->message;
  EXPECT_TRUE(ends.failed.empty()) << "the trials are not to blame";
}

TEST_F(BadWorkerTest, IsLostIfItDoesNotAnswerAPause) {
  auto executor = make(1, 1, worker({.ignores_pauses = true}));
  ASSERT_TRUE(executor->start(short_job(1)));
  executor->command(Allow{TrialId{1}, 1});
  while (const auto report = executor->next(60)) {
    if (std::holds_alternative<EpochReport>(*report)) break;
  }
  executor->command(PauseAll{});
  std::string reason;
  bool paused = false;
  while (!paused) {
    const auto report = executor->next(60);
    ASSERT_TRUE(report) << "the pause has no end";
    if (const auto* lost = std::get_if<WorkerReport>(&*report)) reason = lost->reason;
    paused = std::holds_alternative<AllPausedReport>(*report);
  }
  EXPECT_EQ(reason, "did not answer a pause within 2.0 s (run.lease_seconds)");
}

TEST_F(BadWorkerTest, DoesNotBlockPauseDuringMeasurement) {
  std::atomic<int> pause = 0;
  WorkerConfig worker_config;
  worker_config.study_folder = folder_;
  worker_config.workers = 1;
  ProcessOptions how;
  how.lease_seconds = 1;
  how.pause = &pause;
  how.launch = launch_function([make = worker({.ignores_questions = true})](const std::string& socket) {
    static_cast<void>(run_worker(socket, make));
  });
  auto executor = *ProcessExecutor::create(worker_config, real_file_system(), clock_, how);
  pause = 75;
  const auto tested = executor->test(short_job(1), std::string(32, 'a'));
  ASSERT_FALSE(tested);
  EXPECT_EQ(tested.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace lanista::engine::testing
