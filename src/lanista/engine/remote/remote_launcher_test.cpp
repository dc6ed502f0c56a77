// Workers that other programs begin elsewhere: they come late, or never, and go without a reason.
#include "lanista/ipc/remote_launcher.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/ipc/host_name.h"
#include "support/engine/remote/crashing_executor.h"

namespace lanista::engine::testing {
namespace {

using study::ClusterConfig;

/// A worker with two descriptors as its streams, as with ssh, that waits in a queue for a while.
LaunchWorker launch_late(double seconds, MakeWorkerExecutor make) {
  return [seconds, make = std::move(make)](const std::string&) -> Result<LaunchedWorker> {
    std::array<int, 2> ends{};
    LANISTA_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "no socket");
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      ::setpgid(0, 0);  // so that a signal may reach it with its child
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      ::_exit(run_supervised([&] {
        const int out = ::dup(ends[1]);
        return run_worker(Channel(ends[1], out), make) ? 0 : 1;
      }));
    }
    ::close(ends[1]);
    return LaunchedWorker{child, Channel(ends[0])};
  };
}

class RemoteLauncher : public ProcessExecutorTest {
 protected:
  std::unique_ptr<ProcessExecutor> make_remote(std::int64_t workers, std::vector<Launcher> launchers,
                                               double lease_seconds = 20) {
    WorkerConfig worker_config;
    worker_config.study_folder = folder_;
    worker_config.workers = workers;
    ProcessOptions how;
    how.lease_seconds = lease_seconds;
    how.remote_launchers = std::move(launchers);
    how.launch = launch_function(
        [worker = crashing_worker({})](const std::string& socket) { static_cast<void>(run_worker(socket, worker)); });
    return *ProcessExecutor::create(worker_config, real_file_system(), clock_, how);
  }
};

TEST_F(RemoteLauncher, GivesSameResultWithKilledOrLateWorkers) {
  const auto expected = expected_hashes(6);
  const Rng root(22);
  for (std::uint64_t number = 0; number < 4; ++number) {
    SCOPED_TRACE(number);
    Rng rng = root.split(number);
    const MakeWorkerExecutor worker = crashing_worker({.kills = {}, .seconds = 0.002});
    auto executor =
        make_remote(3, {{"near", launch_late(0, worker)}, {"far", launch_late(rng.uniform() * 0.1, worker)}});
    int kills = 0;
    const TrialEnds ends = train(*executor, 6, [&](const Report& report) {
      if (!std::holds_alternative<EpochReport>(report) || kills == 6 || rng.below(3) > 0) return;
      if (send_signal(executor->process(rng.below(3)), SIGKILL)) ++kills;
    });

    EXPECT_EQ(ends.hashes, expected);
    for (std::uint32_t id = 1; id <= 6; ++id) expect_whole(ends, TrialId{id});
    EXPECT_FALSE(ends.broken);
    for (const WorkerReport& lost : ends.lost) {
      EXPECT_TRUE(lost.reason.starts_with("(near) ") || lost.reason.starts_with("(far) ")) << lost.reason;
    }
  }
}

// A late worker gets trials that have not begun. Otherwise the first worker would train all of them.
TEST_F(RemoteLauncher, GivesTrialsToLateWorkers) {
  const MakeWorkerExecutor worker = crashing_worker({.kills = {}, .seconds = 0.02});
  auto executor = make_remote(2, {{"near", launch_late(0, worker)}, {"far", launch_late(0.3, worker)}},
                              600);  // a lease that does not end here
  for (std::uint32_t id = 1; id <= 4; ++id) ASSERT_TRUE(executor->start(short_job(id)));
  for (std::set<std::int64_t> came; came.size() < 2;) {
    const auto report = executor->next(30);
    ASSERT_TRUE(report);
    if (const auto* worker_came = std::get_if<WorkerReport>(&*report)) came.insert(worker_came->worker);
  }
  const pid_t near = executor->process(0);
  ASSERT_GT(near, 1);
  ASSERT_EQ(::kill(-near, SIGSTOP), 0);  // so that what ends now ends with the other
  for (std::uint32_t id = 1; id <= 4; ++id) {
    executor->command(Allow{TrialId{id}, kShortEpochs});
    executor->command(Finish{TrialId{id}, false});
  }
  std::set<TrialId> ended;
  while (ended.size() < 4) {
    const auto report = executor->next(10);
    ASSERT_TRUE(report) << "no report after " << ended.size() << " trials";
    if (const auto* finished = std::get_if<FinishedReport>(&*report)) ended.insert(finished->trial);
    if (ended.size() == 2) ::kill(-near, SIGCONT);
  }
}

/// Reported hosts of workers, by number; -1 for workers that were lost before they were ready.
std::map<std::int64_t, std::string> reported_hosts(Executor& executor, std::size_t count) {
  std::map<std::int64_t, std::string> out;
  EXPECT_TRUE(executor.start(short_job(1)));
  while (out.size() < count) {
    const auto report = executor.next(30);
    if (!report) {
      ADD_FAILURE() << "silence";
      break;
    }
    if (const auto* worker_report = std::get_if<WorkerReport>(&*report)) {
      out.insert_or_assign(worker_report->has_started ? worker_report->worker : -1, worker_report->host);
    }
  }
  return out;
}

TEST_F(RemoteLauncher, ReportsHostOfWorkerOrLauncher) {
  const MakeWorkerExecutor worker = crashing_worker({});
  ASSERT_NE(local_host_name(), "");
  auto executor = make_remote(3, {{"ssh asked", launch_late(0, worker), "asked"},
                                  {"", {}},
                                  {"ssh down", launch_command({"sh", "-c", "exit 7"}), "down"}});
  EXPECT_EQ(reported_hosts(*executor, 3),
            (std::map<std::int64_t, std::string>{{-1, "down"}, {0, local_host_name()}, {1, local_host_name()}}))
      << "a local worker among remote ones is reported too";
}

TEST_F(RemoteLauncher, ReportsNoHostForLocalLaunchers) {
  auto executor = make_remote(2, {{"", {}}, {"", {}}});
  EXPECT_EQ(reported_hosts(*executor, 2), (std::map<std::int64_t, std::string>{{0, ""}, {1, ""}}));
}

TEST_F(ProcessExecutorTest, ReportsNoHostForLocalWorkers) {
  auto executor = make(2);
  EXPECT_EQ(reported_hosts(*executor, 2), (std::map<std::int64_t, std::string>{{0, ""}, {1, ""}}));
}

/// Sends the given hello, becomes ready, and does nothing.
LaunchWorker launch_with_hello(const std::string& host) {
  const auto work = [](Channel& channel) {
    channel.send(static_cast<std::uint16_t>(WireKind::kReady), with_token(1, ""));
    while (!channel.closed()) static_cast<void>(channel.receive(1));
  };
  return launch_speaking(work, build_fingerprint(), host);
}

TEST_F(RemoteLauncher, SanitizesHostOfWorker) {
  auto executor = make_remote(3, {{"a", launch_with_hello("n\x1b[31m\nde " + std::string(500, 'x')), "asked"},
                                  {"b", launch_with_hello(""), "asked\t2"},
                                  {"c", launch_with_hello("")}});
  EXPECT_EQ(reported_hosts(*executor, 3),
            (std::map<std::int64_t, std::string>{{0, "n?[31m?de?" + std::string(54, 'x')}, {1, "asked?2"}, {2, ""}}));
}

TEST_F(RemoteLauncher, ContinuesWithoutUnusableHost) {
  const MakeWorkerExecutor worker = crashing_worker({.kills = {}, .seconds = 0.02});
  auto executor =
      make_remote(2, {{"there", launch_late(0, worker)}, {"nowhere", launch_command({"lanista-is-not-there"})}});
  const TrialEnds ends = train(*executor, 6);
  EXPECT_FALSE(ends.broken);
  EXPECT_EQ(ends.hashes, expected_hashes(6));
  EXPECT_TRUE(std::ranges::any_of(
      ends.lost, [](const WorkerReport& lost) { return lost.reason == "(nowhere) ended with exit code 127"; }));
}

TEST_F(RemoteLauncher, ReportsWhyNoWorkerIsReady) {
  const auto begun = std::chrono::steady_clock::now();
  auto executor = make_remote(2, {{"nowhere", launch_command({"sh", "-c", "exit 7"})}});
  const TrialEnds ends = train(*executor, 2);
  ASSERT_TRUE(ends.broken);
  EXPECT_NE(ends.broken->message.find("the last one (nowhere) ended with exit code 7"), std::string::npos)
      << ends.broken->message;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(300));
}

TEST_F(RemoteLauncher, BlamesTrialForLauncherReportedCrash) {
  auto executor = make_remote(2, {{"there", launch_late(0, crashing_worker({.kills = TrialId{3}}))}});
  const TrialEnds ends = train(*executor, 4);
  ASSERT_EQ(ends.failed.size(), 1U);
  const std::string& reason = ends.failed.at(TrialId{3});
  EXPECT_NE(reason.find("(there) was killed by signal 11 (Segmentation fault)"), std::string::npos) << reason;
}

TEST(RemoteProcess, DecodesSignalsFromExitCodes) {
  for (int code = 0; code < 256; ++code) {
    const ProcessEnd worker_report = ProcessEnd{.code = code}.as_launcher_exit();
    const bool is_signal = code > 128 && code < 160;
    EXPECT_EQ(worker_report.signal, is_signal ? code - 128 : 0) << code;
    EXPECT_EQ(worker_report.code, is_signal ? 0 : code) << code;
  }
}

TEST(RemoteLauncherCommand, BuildsRemoteCommandLines) {
  const auto hosts =
      ssh_and_slurm_launchers({.ssh = {"here", "node1"}, .slurm = {}}, ProgramPaths{"/opt/my tools/lanista"});
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_TRUE(hosts[0].arguments.empty());
  EXPECT_EQ(hosts[1].name, "ssh node1");
  EXPECT_EQ(hosts[1].host, "node1");
  EXPECT_EQ(ssh_and_slurm_launchers({.ssh = {"me@node2.site"}, .slurm = {}}, ProgramPaths{"lanista"})[0].host,
            "node2.site");
  EXPECT_EQ(hosts[1].arguments, (std::vector<std::string>{"ssh", "-T", "-o", "BatchMode=yes", "--", "node1",
                                                          "'/opt/my tools/lanista'", "worker", "--stdio"}));
  const auto jobs = ssh_and_slurm_launchers({.ssh = {}, .slurm = {"partition=short", "--exact"}},
                                            ProgramPaths{"/opt/my tools/lanista"});
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].host, "") << "any node";
  EXPECT_EQ(jobs[0].arguments,
            (std::vector<std::string>{"srun", "--unbuffered", "--nodes=1", "--ntasks=1", "--partition=short", "--exact",
                                      "--", "/opt/my tools/lanista", "worker", "--stdio"}));
  const auto launchers = stage_launchers({"here", "me@node1"}, ProgramPaths{"/opt/my tools/lanista"});
  ASSERT_EQ(launchers.size(), 2U);
  EXPECT_TRUE(launchers[0].arguments.empty());
  EXPECT_EQ(launchers[1].host, "node1");
  EXPECT_EQ(launchers[1].arguments,
            (std::vector<std::string>{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "--", "me@node1",
                                      "'/opt/my tools/lanista'", "stage"}));
  const auto own = command_launcher(" docker exec  -i box ", "lanista");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->arguments, (std::vector<std::string>{"docker", "exec", "-i", "box", "lanista", "worker", "--stdio"}));
  EXPECT_FALSE(command_launcher("  ", "lanista"));
}

}  // namespace
}  // namespace lanista::engine::testing
