// Worker processes die, hang or send random bytes, and the trials continue.
#include "lanista/engine/remote/process_executor.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/engine/remote/worker_fleet.h"
#include "support/engine/remote/crashing_executor.h"

namespace lanista::engine::testing {
namespace {

TEST_F(ProcessExecutorTest, GivesSameResultsAfterKills) {
  const auto expected = expected_hashes(6);
  const Rng root(21);
  for (std::uint64_t number = 0; number < 4; ++number) {
    SCOPED_TRACE(number);
    Rng rng = root.split(number);
    auto executor = make(2, {.kills = {}, .seconds = 0.002});
    int kills = 0;
    const TrialEnds ends = train(*executor, 6, [&](const Report& report) {
      if (!std::holds_alternative<EpochReport>(report) || kills == 8 || rng.below(3) > 0) return;
      if (send_signal(executor->process(rng.below(2)), SIGKILL)) ++kills;
    });

    EXPECT_EQ(ends.hashes, expected);
    for (std::uint32_t id = 1; id <= 6; ++id) expect_whole(ends, TrialId{id});
    EXPECT_GT(kills, 0);
    EXPECT_FALSE(ends.lost.empty());
    for (const WorkerReport& lost : ends.lost) EXPECT_EQ(lost.reason, "was killed by signal 9 (Killed)");
  }
}

TEST_F(ProcessExecutorTest, TakesTrialsFromAWorkerThatIsStopped) {
  const auto expected = expected_hashes(4);
  auto executor = make(2, {.kills = {}, .seconds = 0.005}, 1);
  pid_t last = 0, stopped = 0;

  const TrialEnds ends = train(*executor, 4, [&](const Report& report) {
    if (const auto* worker = std::get_if<WorkerReport>(&report); worker != nullptr && worker->has_started) {
      last = static_cast<pid_t>(worker->process);
    }
    if (stopped != 0 || !std::holds_alternative<EpochReport>(report)) return;
    if (send_signal(last, SIGSTOP)) stopped = last;
  });

  EXPECT_EQ(ends.hashes, expected);
  for (std::uint32_t id = 1; id <= 4; ++id) expect_whole(ends, TrialId{id});
  // On a machine that is too busy the other one may seem silent, too.
  const auto lost = std::ranges::find(ends.lost, stopped, &WorkerReport::process);
  ASSERT_NE(lost, ends.lost.end());
  EXPECT_NE(lost->reason.find("was silent for 1.0 s"), std::string::npos) << lost->reason;
  executor.reset();
  EXPECT_FALSE(send_signal(stopped, 0)) << "it is still there";
}

// The lease does not apply before the first message, because a program may load slowly on a busy machine.
TEST_F(ProcessExecutorTest, WaitsLongerThanLeaseForHello) {
  const auto expected = expected_hashes(2);
  WorkerConfig worker_config;
  worker_config.study_folder = folder_;
  worker_config.workers = 1;
  ProcessOptions fleet_options;
  fleet_options.lease_seconds = 1;
  fleet_options.launch = launch_function([make = crashing_worker({})](const std::string& socket) {
    auto channel = connect_to_engine(socket);
    std::this_thread::sleep_for(std::chrono::duration<double>(1.6));
    if (channel) static_cast<void>(run_worker(*std::move(channel), make));
  });
  const auto executor = *ProcessExecutor::create(worker_config, real_file_system(), clock_, fleet_options);

  const TrialEnds ends = train(*executor, 2);

  EXPECT_FALSE(ends.broken);
  EXPECT_EQ(ends.hashes, expected);
}

TEST_F(ProcessExecutorTest, LosesOnlyTheTrialThatCrashesItsProcess) {
  const auto expected = expected_hashes(5);
  for (const std::int64_t workers : {1, 2}) {
    SCOPED_TRACE(workers);
    auto executor = make(workers, {.kills = TrialId{3}});

    const TrialEnds ends = train(*executor, 5);

    ASSERT_EQ(ends.failed.size(), 1U);
    const std::string& reason = ends.failed.at(TrialId{3});
    EXPECT_NE(reason.find("was killed by signal 11 (Segmentation fault)"), std::string::npos) << reason;
    for (const auto& [trial, hash] : ends.hashes) EXPECT_EQ(hash, expected.at(trial)) << trial.value;
    for (const std::uint32_t id : {1U, 2U, 4U, 5U}) expect_whole(ends, TrialId{id});
    EXPECT_GE(ends.lost.size(), 2U);
  }
}

TEST_F(ProcessExecutorTest, ToleratesSingleCrash) {
  const auto expected = expected_hashes(4);
  auto executor = make(1, {.kills = TrialId{2}, .signal = SIGABRT, .of_processes = 1});

  const TrialEnds ends = train(*executor, 4);

  EXPECT_TRUE(ends.failed.empty());
  EXPECT_EQ(ends.hashes, expected);
  EXPECT_EQ(ends.lost.size(), 1U);
}

TEST_F(ProcessExecutorTest, FailsTrialKilledEveryTime) {
  auto executor = make(1, {.kills = TrialId{2}, .signal = SIGKILL});

  const TrialEnds ends = train(*executor, 2);

  ASSERT_TRUE(ends.failed.contains(TrialId{2}));
  EXPECT_NE(ends.failed.at(TrialId{2}).find("signal 9 (Killed)"), std::string::npos);
  EXPECT_TRUE(ends.hashes.contains(TrialId{1}));
}

TEST_F(ProcessExecutorTest, PausesWhenWorkerDies) {
  auto executor = make(2, {.kills = {}, .seconds = 0.002});
  for (std::uint32_t id = 1; id <= 4; ++id) {
    ASSERT_TRUE(executor->start(short_job(id)));
    executor->command(Allow{TrialId{id}, kShortEpochs});
  }
  while (const auto report = executor->next(30)) {
    if (std::holds_alternative<EpochReport>(*report)) break;
  }
  ASSERT_TRUE(send_signal(executor->process(1), SIGSTOP));
  executor->command(PauseAll{});
  ASSERT_TRUE(send_signal(executor->process(1), SIGKILL));

  int paused = 0;
  while (const auto report = executor->next(paused > 0 ? 0.1 : 30)) {
    if (std::holds_alternative<AllPausedReport>(*report)) ++paused;
    ASSERT_FALSE(std::holds_alternative<ExecutorErrorReport>(*report));
  }
  EXPECT_EQ(paused, 1);
}

TEST_F(ProcessExecutorTest, ReportsWhyWorkersFail) {
  auto refuses = make(2, 20, [](const WorkerConfig&, const ReportActiveTrials&) {
    return Result<std::shared_ptr<Executor>>(Error{Code::kFailedPrecondition, "other data", "here"});
  });
  TrialEnds ends = train(*refuses, 1);
  ASSERT_TRUE(ends.broken);
  EXPECT_EQ(ends.broken->text(), "here: other data");

  auto dies = make(
      2, 20, [](const WorkerConfig&, const ReportActiveTrials&) -> Result<std::shared_ptr<Executor>> { ::_exit(3); });
  ends = train(*dies, 1);
  ASSERT_TRUE(ends.broken);
  EXPECT_EQ(ends.broken->code, Code::kUnavailable);
  EXPECT_NE(ends.broken->message.find("ended with exit code 3"), std::string::npos) << ends.broken->message;
  EXPECT_FALSE(dies->test(short_job(1), std::string(32, '0')));
}

TEST_F(ProcessExecutorTest, LeavesNoProcessAndNoSocketBehind) {
  auto executor = make(3);
  ASSERT_EQ(train(*executor, 3).hashes.size(), 3U);
  std::vector<pid_t> all;
  for (std::size_t i = 0; i < 3; ++i) all.push_back(executor->process(i));
  const std::string socket = folder_ + "/control/workers.sock";
  struct stat found {};
  ASSERT_EQ(::stat(socket.c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777U, 0600U);

  executor.reset();

  EXPECT_NE(::stat(socket.c_str(), &found), 0);
  for (const pid_t process : all) EXPECT_FALSE(send_signal(process, 0)) << process;
}

/// The first message of an unverified peer, and the answer to it.
std::optional<Error> shown_out(WorkerFleet& fleet, const std::string& socket, const std::string& hello) {
  auto channel = connect_to_engine(socket);
  if (!channel) return channel.error();
  channel->send(static_cast<std::uint16_t>(WireKind::kHello), hello);
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(fleet.next(0.01));
    const auto answer = channel->receive(0.05);
    if (!answer) continue;
    if (answer->kind == static_cast<std::uint16_t>(WireKind::kRejected)) return decode_error(answer->text);
    break;
  }
  return std::nullopt;
}

TEST_F(ProcessExecutorTest, RefusesOtherBuildsAndForeignWorkers) {
  FleetOptions fleet_options;
  fleet_options.worker_config.study_folder = folder_;
  fleet_options.socket =
      folder_ + "/" + std::string(60, 'a') + "/" + std::string(60, 'b') + "/workers.sock";  // too long an address
  std::filesystem::create_directories(std::filesystem::path(fleet_options.socket).parent_path());
  fleet_options.launch = launch_function([](const std::string&) { ::pause(); });
  const auto fleet = *WorkerFleet::begin(fleet_options, clock_);

  const auto other = shown_out(*fleet, fleet_options.socket, encode(Hello{kWorkerProtocol, "0.1.0 build abc", 7}));
  const auto older = shown_out(*fleet, fleet_options.socket, encode(Hello{0, build_fingerprint(), 7}));
  const auto peer = shown_out(*fleet, fleet_options.socket, encode(Hello{kWorkerProtocol, build_fingerprint(), 7}));
  const auto babbler = shown_out(*fleet, fleet_options.socket, "GET / HTTP/1.1");

  ASSERT_TRUE(other && older && peer && babbler);
  EXPECT_EQ(other->code, Code::kFailedPrecondition);
  EXPECT_NE(other->message.find("lanista 0.1.0 build abc (protocol 3)"), std::string::npos) << other->message;
  EXPECT_NE(other->message.find("allowed: the engine's own build, lanista " + build_fingerprint()), std::string::npos);
  EXPECT_NE(older->message.find("(protocol 0)"), std::string::npos);
  EXPECT_NE(peer->message.find("starts its worker processes itself"), std::string::npos);
  EXPECT_EQ(babbler->code, Code::kDataLoss);
}

}  // namespace
}  // namespace lanista::engine::testing
