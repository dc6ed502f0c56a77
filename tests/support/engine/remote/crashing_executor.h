#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/process_executor.h"
#include "lanista/engine/remote/worker_fleet.h"
#include "lanista/engine/remote/worker_loop.h"
#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/model/graph/text.h"
#include "support/engine/core/fake_executor.h"
#include "support/engine/core/test_support.h"

// Worker processes that crash on their trials, for tests.
namespace lanista::engine::testing {

inline constexpr std::int64_t kShortEpochs = 4;

inline Job short_job(std::uint32_t id) {
  Job job;
  job.trial = TrialId{id};
  job.model = *graph::parse("%0 = input(shape=[6])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n");
  job.recipe.epochs = kShortEpochs;
  job.recipe.batch = 8;
  job.recipe.lr = 0.1 * id;
  return job;
}

/// Returns whether the process received the signal. A worker has process id 0 while its next process starts; kill(2)
/// with 0 would signal the whole process group of the test.
inline bool send_signal(pid_t process, int number) { return process > 0 && ::kill(process, number) == 0; }

/// How a worker's trials crash it.
struct CrashProfile {
  std::optional<TrialId> kills;  ///< The trial that kills a worker which trains it.
  int signal = SIGSEGV;
  int of_processes = 1 << 30;  ///< Most crashing processes, counted in a file.
  double seconds = 0;          ///< Seconds of an epoch.
};

/// A fake that reports its active trials, all at once as lanes of one step, and may crash on them.
class CrashingExecutor final : public ForwardingExecutor {
 public:
  CrashingExecutor(std::unique_ptr<FakeExecutor> fake, ReportActiveTrials report_trials, CrashProfile crash_profile,
                   std::string crash_marks_path)
      : ForwardingExecutor(*fake),
        fake_(std::move(fake)),
        report_trials_(std::move(report_trials)),
        crash_profile_(crash_profile),
        crash_marks_path_(std::move(crash_marks_path)) {}

  Result<void> start(const Job& job) override {
    auto started = ForwardingExecutor::start(job);
    (job.alone ? ungrouped_ : grouped_)[job.trial] = 0;
    return started;
  }
  void command(const Command& command) override {
    if (const auto* allowed = std::get_if<Allow>(&command)) allow(*allowed);
    if (const auto* arranged = std::get_if<UpdateGroups>(&command)) {
      for (const Allow& each : arranged->allow) allow(each);
    }
    ForwardingExecutor::command(command);
  }
  std::optional<Report> next(double seconds) override {
    train_allowed();
    if (crash_profile_.seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(crash_profile_.seconds));
    return ForwardingExecutor::next(seconds);
  }

 private:
  using Trials = std::map<TrialId, std::int64_t>;  // Allowed epochs that are not trained yet.

  void allow(const Allow& allowed) {
    for (Trials* trials : {&ungrouped_, &grouped_}) {
      if (trials->contains(allowed.trial)) (*trials)[allowed.trial] = allowed.epoch;
    }
  }
  void train_allowed() {
    std::vector<TrialId> lanes;
    for (auto& [trial, epochs] : grouped_) {
      if (std::exchange(epochs, 0) > 0) lanes.push_back(trial);
    }
    train(lanes);
    for (auto& [trial, epochs] : ungrouped_) {
      if (std::exchange(epochs, 0) > 0) train({trial});
    }
  }
  void train(const std::vector<TrialId>& lanes) {
    if (lanes.empty()) return;
    report_trials_(lanes);
    for (const TrialId trial : lanes) {
      if (trial != crash_profile_.kills) continue;
      const auto died = real_file_system().read(crash_marks_path_);
      if (died && std::ssize(*died) >= crash_profile_.of_processes) continue;
      const std::string marks_with_one_more = (died ? *died : "") + "x";
      static_cast<void>(
          write_atomically(real_file_system(), crash_marks_path_, std::as_bytes(std::span(marks_with_one_more))));
      ::signal(crash_profile_.signal, SIG_DFL);  // A sanitizer's handler would exit.
      ::raise(crash_profile_.signal);
    }
  }

  std::unique_ptr<FakeExecutor> fake_;
  ReportActiveTrials report_trials_;
  CrashProfile crash_profile_;
  std::string crash_marks_path_;
  Trials ungrouped_, grouped_;
};

class ProcessExecutorTest : public ::testing::Test {
 protected:
  ProcessExecutorTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanista_processes_XXXXXX").string();
    LANISTA_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    folder_ = pattern;
  }
  ~ProcessExecutorTest() override { std::filesystem::remove_all(folder_); }

  /// Makes the executors of workers with this profile.
  MakeWorkerExecutor crashing_worker(const CrashProfile& crash_profile) const {
    return [crash_profile, crash_marks_path = folder_ + "/marks"](const WorkerConfig& config,
                                                                  const ReportActiveTrials& report_trials) {
      const FakeOptions options{.seed = 3, .workers = 2, .checkpoint_one_in = 2};
      const store::CheckpointStore files(real_file_system(), config.study_folder);
      return Result<std::shared_ptr<Executor>>(std::make_shared<CrashingExecutor>(
          std::make_unique<FakeExecutor>(options, files), report_trials, crash_profile, crash_marks_path));
    };
  }
  std::unique_ptr<ProcessExecutor> make(std::int64_t workers, const CrashProfile& crash_profile = {},
                                        double lease_seconds = 20) {
    return make(workers, lease_seconds, crashing_worker(crash_profile));
  }
  std::unique_ptr<ProcessExecutor> make(std::int64_t workers, double lease_seconds, const MakeWorkerExecutor& worker) {
    WorkerConfig worker_config;
    worker_config.study_folder = folder_;
    worker_config.workers = workers;
    ProcessOptions how;
    how.lease_seconds = lease_seconds;
    how.launch =
        launch_function([worker](const std::string& socket) { static_cast<void>(run_worker(socket, worker)); });
    return *ProcessExecutor::create(worker_config, real_file_system(), clock_, how);
  }

  struct TrialEnds {
    std::map<TrialId, std::vector<std::int64_t>> epochs;
    std::map<TrialId, Digest> hashes;
    std::map<TrialId, std::string> failed;
    std::vector<WorkerReport> lost;
    std::optional<Error> broken;
  };
  /// Trains so many trials to their ends; `on_report` is called with every report.
  TrialEnds train(Executor& executor, std::uint32_t trials, const std::function<void(const Report&)>& on_report = {}) {
    for (std::uint32_t id = 1; id <= trials; ++id) {
      EXPECT_TRUE(executor.start(short_job(id)));
      executor.command(Allow{TrialId{id}, kShortEpochs});
      executor.command(Finish{TrialId{id}, false});
    }
    TrialEnds ends;
    while (ends.hashes.size() + ends.failed.size() < trials && !ends.broken) {
      const auto report = executor.next(60);
      if (!report) {
        ADD_FAILURE() << "silence";
        break;
      }
      if (on_report) on_report(*report);
      if (const auto* epoch = std::get_if<EpochReport>(&*report)) {
        ends.epochs[epoch->measurement.trial].push_back(epoch->measurement.epoch);
      } else if (const auto* finished = std::get_if<FinishedReport>(&*report)) {
        ends.hashes[finished->trial] = finished->state_hash;
      } else if (const auto* failure = std::get_if<FailureReport>(&*report)) {
        ends.failed[failure->trial] = failure->reason;
      } else if (const auto* worker = std::get_if<WorkerReport>(&*report)) {
        if (!worker->has_started) ends.lost.push_back(*worker);
      } else if (const auto* broken = std::get_if<ExecutorErrorReport>(&*report)) {
        ends.broken = broken->error;
      }
    }
    return ends;
  }
  static void expect_whole(const TrialEnds& ends, TrialId trial) {
    EXPECT_EQ(ends.epochs.at(trial), (std::vector<std::int64_t>{1, 2, 3, 4})) << trial.value;
  }
  std::map<TrialId, Digest> expected_hashes(std::uint32_t trials) {
    FakeExecutor fake({.seed = 1}, store::CheckpointStore(real_file_system(), folder_));
    return train(fake, trials).hashes;
  }

  std::string folder_;
  RealClock clock_;
};

/// A worker that sends its hello, and then does `work` with its channel.
inline LaunchWorker launch_speaking(std::function<void(Channel&)> work, std::string build = build_fingerprint(),
                                    std::string host = "") {
  return [work = std::move(work), build = std::move(build),
          host = std::move(host)](const std::string&) -> Result<LaunchedWorker> {
    std::array<int, 2> ends{};
    LANISTA_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "no socket");
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      Channel channel(ends[1]);
      channel.send(static_cast<std::uint16_t>(WireKind::kHello),
                   encode(Hello{kWorkerProtocol, build, ::getpid(), host}));
      work(channel);
      ::_exit(0);
    }
    ::close(ends[1]);
    return LaunchedWorker{child, Channel(ends[0])};
  };
}

}  // namespace lanista::engine::testing
