// Messages of workers at the level of the connection: order, amounts, sizes and times.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "lanista/base/frame.h"
#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/worker_fleet.h"
#include "lanista/engine/remote/worker_protocol.h"
#include "lanista/ipc/worker_socket.h"
#include "support/engine/remote/crashing_executor.h"

namespace lanista::engine::testing {
namespace {

class BadMessageTest : public ProcessExecutorTest {
 protected:
  /// Workers that are begun in turn by these.
  std::unique_ptr<ProcessExecutor> executor_with(std::vector<Launcher> launchers) {
    WorkerConfig worker_config;
    worker_config.study_folder = folder_;
    worker_config.workers = static_cast<std::int64_t>(launchers.size());
    ProcessOptions how;
    how.lease_seconds = 20;
    how.remote_launchers = std::move(launchers);
    return *ProcessExecutor::create(worker_config, real_file_system(), clock_, how);
  }
  LaunchWorker launch_good() const {
    return launch_function(
        [make = crashing_worker({})](const std::string& socket) { static_cast<void>(run_worker(socket, make)); });
  }
};

void send_all(Channel& channel, WireKind kind, const std::string& text) {
  channel.send(static_cast<std::uint16_t>(kind), text);
  channel.flush(60);
}

FleetOptions fleet_options(double seconds, double ready_leases = 60,
                           std::size_t max_unread_bytes = std::size_t{256} << 20) {
  FleetOptions how;
  how.lease_seconds = seconds;
  how.ready_leases = ready_leases;
  how.max_unread_bytes = max_unread_bytes;
  return how;
}

/// Why the first worker of a fleet is lost. `on_poll` is called with every poll of the fleet.
std::string loss_reason_of(const std::function<void(Channel&)>& work, const Clock& clock, const std::string& folder,
                           FleetOptions how = fleet_options(2), const std::function<void(WorkerFleet&)>& on_poll = {}) {
  how.socket = folder + "/workers.sock";
  how.remote_launchers = {{"bad", launch_speaking(work)}};
  const auto fleet = *WorkerFleet::begin(how, clock);
  const double until = clock.now() + 120;
  while (clock.now() < until) {
    const auto event = fleet->next(0.1);
    if (on_poll) on_poll(*fleet);
    if (event && std::holds_alternative<Fleet::Lost>(*event)) return std::get<Fleet::Lost>(*event).reason;
  }
  return "nothing";
}

TEST_F(BadMessageTest, DoesNotEndTheStudyIfItIsAHelloOfAnotherBuild) {
  const LaunchWorker other = launch_speaking(
      [](Channel& channel) {
        static_cast<void>(channel.receive(60));
        ::_exit(3);
      },
      "another build");
  auto executor = executor_with({{"good", launch_good()}, {"other", other}});
  ASSERT_TRUE(executor->start(short_job(1)));
  bool is_refused = false;
  while (!is_refused) {
    const auto report = executor->next(60);
    ASSERT_TRUE(report);
    const auto* lost = std::get_if<WorkerReport>(&*report);
    is_refused = lost != nullptr && lost->reason == "(other) ended with exit code 3";
  }
  const TrialEnds ends = train(*executor, 4);
  EXPECT_FALSE(ends.broken) << ends.broken->message;
  EXPECT_EQ(ends.hashes, expected_hashes(4));
}

TEST_F(BadMessageTest, DoesNotBlockTrialsIfNeverReady) {
  const std::string welcomed = folder_ + "/welcomed";
  const LaunchWorker late = launch_speaking([&](Channel& channel) {
    static_cast<void>(channel.receive(60));
    static_cast<void>(real_file_system().write_file(welcomed, {}));
    for (std::uint64_t number = 1; !channel.closed(); ++number) {
      send_all(channel, WireKind::kHeartbeat, with_token(number, ""));
      static_cast<void>(channel.receive(0.1));
    }
  });
  WorkerConfig worker_config;
  worker_config.study_folder = folder_;
  worker_config.workers = 2;
  ProcessOptions how;
  how.lease_seconds = 2;
  const LaunchWorker second = launch_function([&, make = crashing_worker({})](const std::string& socket) {
    while (!real_file_system().exists(welcomed)) ::usleep(1000);
    static_cast<void>(run_worker(socket, make));
  });
  how.remote_launchers = {{"good", second}, {"late", late}};
  auto executor = *ProcessExecutor::create(worker_config, real_file_system(), clock_, how);
  const TrialEnds ends = train(*executor, 6);  // the late worker is not ready for 120 s
  EXPECT_EQ(ends.hashes, expected_hashes(6));
  EXPECT_TRUE(ends.lost.empty());
}

TEST_F(BadMessageTest, IsAcceptedAsLastMessage) {
  const Error full{Code::kResourceExhausted, "No space left on device", "/study/ckpt"};
  auto executor = executor_with({{"full", launch_speaking([&](Channel& channel) {
                                    send_all(channel, WireKind::kReady, "1\n");
                                    while (true) {
                                      const auto message = channel.receive(60);
                                      const bool starts =
                                          message && static_cast<WireKind>(message->kind) == WireKind::kStart;
                                      if (!message || starts) break;
                                    }
                                    send_all(channel, WireKind::kBroken, with_token(2, encode(full)));
                                  })}});
  ASSERT_TRUE(executor->start(short_job(1)));
  const auto ready = executor->next(60);
  ASSERT_TRUE(ready);
  siginfo_t ended{};  // the engine looks again when its process has ended
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(executor->process(0)), &ended, WEXITED | WNOWAIT), 0);
  std::optional<Error> broken;
  while (!broken) {
    const auto report = executor->next(60);
    ASSERT_TRUE(report);
    if (const auto* found = std::get_if<ExecutorErrorReport>(&*report)) broken = found->error;
  }
  EXPECT_EQ(*broken, full);
}

TEST_F(BadMessageTest, IsDroppedForMessagesOutOfOrder) {
  const std::string report = with_token(1, with_token(1, encode(Report(AllPausedReport{}))));
  const auto loss = [&](const std::function<void(Channel&)>& work) {
    return loss_reason_of(
        [&](Channel& channel) {
          work(channel);
          while (!channel.closed()) static_cast<void>(channel.receive(1));
        },
        clock_, folder_);
  };
  EXPECT_EQ(loss([&](Channel& channel) { send_all(channel, WireKind::kReport, report); }),
            "(bad) was dropped: it sent a message of kind 3 before it was ready");
  EXPECT_EQ(loss([](Channel& channel) { send_all(channel, WireKind::kHeartbeat, "2\n"); }),
            "(bad) was dropped: it sent message 2; due is message 1");
  EXPECT_EQ(loss([](Channel& channel) {
              send_all(channel, WireKind::kReady, "1\n");
              send_all(channel, WireKind::kReady, "2\n");
            }),
            "(bad) was dropped: it sent a message of kind 2 twice");
  EXPECT_EQ(loss([](Channel& channel) { send_all(channel, WireKind::kHeartbeat, ""); }),
            "(bad) was dropped: it sent an invalid message (its number is missing)");
  EXPECT_EQ(loss([](Channel& channel) { send_all(channel, WireKind::kHeartbeat, "1\n{}"); }),
            "(bad) was dropped: it sent a message of kind 40 with a text");
  EXPECT_EQ(loss([](Channel& channel) { send_all(channel, WireKind::kHeartbeat, std::string(100, '1')); }),
            "(bad) was dropped: it sent an invalid message (a message of 100 bytes; allowed: up to 64 for kind 40)");
}

TEST_F(BadMessageTest, IsDroppedForAnAnswerWithoutARequest) {
  auto executor = executor_with({{"bad", launch_speaking([](Channel& channel) {
                                    send_all(channel, WireKind::kReady, "1\n");
                                    const auto answer = encode_measured_metrics({{"test_accuracy", 1}});
                                    send_all(channel, WireKind::kAnswer, with_token(2, answer));
                                    while (!channel.closed()) static_cast<void>(channel.receive(1));
                                  })}});
  ASSERT_TRUE(executor->start(short_job(1)));
  std::string reason;
  while (reason.empty()) {
    const auto report = executor->next(60);
    ASSERT_TRUE(report);
    if (const auto* lost = std::get_if<WorkerReport>(&*report)) reason = lost->reason;
  }
  EXPECT_EQ(reason, "(bad) was dropped: it answered a measurement that was not requested");
}

TEST_F(BadMessageTest, IsDroppedForHeartbeatsWithoutEnd) {
  const std::string loss = loss_reason_of(
      [](Channel& channel) {
        for (int number = 1; !channel.closed(); ++number) {
          send_all(channel, WireKind::kHeartbeat, with_token(static_cast<std::uint64_t>(number), ""));
          static_cast<void>(channel.receive(0));
        }
      },
      clock_, folder_);
  EXPECT_TRUE(loss.starts_with("(bad) was dropped: it sent ") && loss.ends_with(" were due")) << loss;
}

TEST_F(BadMessageTest, IsDroppedForMessagesWithoutProgress) {
  const std::string loss = loss_reason_of(
      [](Channel& channel) {
        send_all(channel, WireKind::kReady, "1\n");
        for (std::uint64_t number = 2; !channel.closed(); ++number) {
          send_all(channel, WireKind::kActiveTrials, with_token(number, encode(std::vector<TrialId>())));
          static_cast<void>(channel.receive(0));
        }
      },
      clock_, folder_, fleet_options(20));
  EXPECT_EQ(loss, "(bad) was dropped: it sent 100000 messages without any progress");
}

TEST_F(BadMessageTest, IsDroppedIfItDoesNotRead) {
  const std::string loss = loss_reason_of(
      [](Channel& channel) {
        send_all(channel, WireKind::kReady, "1\n");
        ::pause();
      },
      clock_, folder_, fleet_options(20, 60, std::size_t{1} << 20),
      [](WorkerFleet& fleet) { fleet.send(0, WireKind::kQuestion, std::string(std::size_t{1} << 19, 'q')); });
  EXPECT_TRUE(loss.starts_with("(bad) was dropped: it does not read: ")) << loss;
}

TEST_F(BadMessageTest, IsLostIfItIsNeverReady) {
  const std::string loss = loss_reason_of(
      [](Channel& channel) {
        for (std::uint64_t number = 1; !channel.closed(); ++number) {
          send_all(channel, WireKind::kHeartbeat, with_token(number, ""));
          static_cast<void>(channel.receive(0.5));
        }
      },
      clock_, folder_, fleet_options(20, 0.1));
  EXPECT_EQ(loss, "(bad) was not ready to work within 2.0 s");
}

TEST_F(BadMessageTest, IsLostWithAFrameThatNeverEnds) {
  const std::string loss = loss_reason_of(
      [](Channel& channel) {
        std::string frame;
        encode_frame(static_cast<std::uint16_t>(WireKind::kHeartbeat), std::string(60, '1'), frame);
        for (const char byte : frame) {
          static_cast<void>(::send(channel.socket(), &byte, 1, MSG_NOSIGNAL));
          static_cast<void>(channel.receive(0.2));
        }
      },
      clock_, folder_);
  EXPECT_TRUE(loss.starts_with("(bad) was silent for 2.0 s")) << loss;
}

TEST_F(BadMessageTest, CannotFillTheEngineWithConnections) {
  FleetOptions how;
  how.socket = folder_ + "/workers.sock";
  how.workers = 0;
  const auto fleet = *WorkerFleet::begin(how, clock_);
  std::vector<Channel> all;
  for (int i = 0; i < 160; ++i) {
    auto channel = connect_to_engine(how.socket);
    ASSERT_TRUE(channel);
    all.push_back(*std::move(channel));
    static_cast<void>(fleet->next(0));
  }
  std::size_t open = 0;
  for (Channel& channel : all) {
    static_cast<void>(channel.receive(0));
    if (!channel.closed()) ++open;
  }
  EXPECT_LE(open, 64U);
}

}  // namespace
}  // namespace lanista::engine::testing
