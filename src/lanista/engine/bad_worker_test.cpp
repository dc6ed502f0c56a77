// Workers that report what is wrong, that never answer, and that send without end: the trials and the others continue.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/frame.h"
#include "lanista/engine/messages.h"
#include "lanista/engine/process_life.h"
#include "lanista/engine/worker_fleet.h"
#include "lanista/engine/worker_protocol.h"
#include "lanista/engine/worker_socket.h"

namespace lanista::engine::testing {
namespace {

/// A fake whose behaviour a test changes.
struct Behaviour {
  std::function<void(Report&)> report = {};
  bool ignores_pauses = false;
  bool never_answers = false;
};

class ChangedExecutor final : public PassingExecutor {
 public:
  ChangedExecutor(std::unique_ptr<FakeExecutor> fake, Behaviour behaviour)
      : PassingExecutor(*fake), fake_(std::move(fake)), behaviour_(std::move(behaviour)) {}
  void command(const Command& command) override {
    if (behaviour_.ignores_pauses && std::holds_alternative<PauseAll>(command)) return;
    PassingExecutor::command(command);
  }
  std::optional<Report> next(double seconds) override {
    auto report = PassingExecutor::next(seconds);
    if (report && behaviour_.report) behaviour_.report(*report);
    return report;
  }
  Result<std::map<std::string, double>> measure(std::span<const Tested> members, data::Part part) override {
    while (behaviour_.never_answers) ::pause();  // its heart beats on
    return PassingExecutor::measure(members, part);
  }

 private:
  std::unique_ptr<FakeExecutor> fake_;
  Behaviour behaviour_;
};

class BadWorkerTest : public ProcessExecutorTest {
 protected:
  static MakeWorker worker(Behaviour behaviour) {
    return [behaviour](const WorkerBrief& brief, const TellInHand&) {
      const store::CheckpointStore files(real_file_system(), brief.study_folder);
      auto fake = std::make_unique<FakeExecutor>(FakeOptions{.workers = 2, .checkpoint_one_in = 2}, files);
      return Result<std::shared_ptr<Executor>>(std::make_shared<ChangedExecutor>(std::move(fake), behaviour));
    };
  }
  /// Two workers; every process of the second one behaves so.
  std::unique_ptr<ProcessExecutor> with_bad(const Behaviour& behaviour) {
    WorkerBrief brief;
    brief.study_folder = folder_;
    brief.workers = 2;
    ProcessOptions how;
    how.lease_seconds = 20;
    const auto launch = [](const MakeWorker& make) {
      return launch_function([make](const std::string& socket) { static_cast<void>(work_for_engine(socket, make)); });
    };
    how.elsewhere = {{"good", launch(worker({}))}, {"bad", launch(worker(behaviour))}};
    return *ProcessExecutor::create(brief, real_file_system(), clock_, how);
  }
  void expect_dropped(const Behaviour& behaviour, const std::string& what) {
    auto executor = with_bad(behaviour);
    ASSERT_TRUE(executor->start(short_job(1)));
    for (int came = 0; came < 2;) {  // so that each has trials
      const auto report = executor->next(60);
      ASSERT_TRUE(report);
      const auto* worker = std::get_if<WorkerReport>(&*report);
      if (worker != nullptr && worker->came) ++came;
    }
    const Ends ends = train(*executor, 6);
    EXPECT_FALSE(ends.broken) << ends.broken->message;
    EXPECT_EQ(ends.hashes, undisturbed(6));
    for (std::uint32_t id = 1; id <= 6; ++id) expect_whole(ends, TrialId{id});
    ASSERT_FALSE(ends.lost.empty());
    for (const WorkerReport& lost : ends.lost) {
      EXPECT_TRUE(lost.was_dropped);
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

TEST_F(BadWorkerTest, IsDroppedForAPauseThatWasNotAskedFor) {
  expect_dropped({.report = [](Report& report) { report = PausedReport{}; }}, "a pause that was not asked for");
}

TEST_F(BadWorkerTest, EndsTheStudyOnlyIfNoOtherWorks) {
  auto executor = make(2, 20, worker({.report = [](Report& report) { report = PausedReport{}; }}));
  const Ends ends = train(*executor, 3);
  ASSERT_TRUE(ends.broken);
  EXPECT_EQ(ends.broken->code, Code::kUnavailable);
  EXPECT_NE(ends.broken->message.find("worker processes send wrong messages: the last one was dropped: it reported"),
            std::string::npos)
      << ends.broken->message;
  EXPECT_TRUE(ends.failed.empty()) << "the trials are not to blame";
}

TEST_F(BadWorkerTest, IsHeardWithItsLastWords) {
  const Error full{Code::kResourceExhausted, "No space left on device", "/study/ckpt"};
  auto executor = make(1, 20, worker({.report = [&](Report& report) { report = BrokenReport{full}; }}));
  const Ends ends = train(*executor, 1);
  ASSERT_TRUE(ends.broken);
  EXPECT_EQ(*ends.broken, full);
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
    paused = std::holds_alternative<PausedReport>(*report);
  }
  EXPECT_EQ(reason, "did not answer a pause within 2.0 s (run.lease_seconds)");
}

TEST_F(BadWorkerTest, DoesNotHoldUpAPauseWithAQuestion) {
  std::atomic<int> pause = 0;
  WorkerBrief brief;
  brief.study_folder = folder_;
  brief.workers = 1;
  ProcessOptions how;
  how.lease_seconds = 1;
  how.pause = &pause;
  how.launch = launch_function([make = worker({.never_answers = true})](const std::string& socket) {
    static_cast<void>(work_for_engine(socket, make));
  });
  auto executor = *ProcessExecutor::create(brief, real_file_system(), clock_, how);
  pause = 75;
  const auto tested = executor->test(short_job(1), std::string(32, 'a'));
  ASSERT_FALSE(tested);
  EXPECT_EQ(tested.error().code, Code::kUnavailable);
}

/// Greets, is ready, and then does `work` with its channel.
LaunchWorker speaking(std::function<void(Channel&)> work) {
  return [work = std::move(work)](const std::string&) -> Result<Begun> {
    std::array<int, 2> ends{};
    LANISTA_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "no socket");
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      Channel channel(ends[1]);
      channel.send(static_cast<std::uint16_t>(WireKind::kHello),
                   encode(Hello{kWorkerProtocol, build_fingerprint(), ::getpid()}));
      work(channel);
      ::_exit(0);
    }
    ::close(ends[1]);
    return Begun{child, Channel(ends[0])};
  };
}

FleetOptions lease_of(double seconds, double ready_leases = 60, std::size_t most_unread = std::size_t{256} << 20) {
  FleetOptions how;
  how.lease_seconds = seconds;
  how.ready_leases = ready_leases;
  how.most_unread = most_unread;
  return how;
}

/// Why the first worker of a fleet is lost. `meanwhile` is called with every look at the fleet.
std::string loss_of(const std::function<void(Channel&)>& work, const Clock& clock, const std::string& folder,
                    FleetOptions how = lease_of(2), const std::function<void(WorkerFleet&)>& meanwhile = {}) {
  how.socket = folder + "/workers.sock";
  how.elsewhere = {{"bad", speaking(work)}};
  const auto fleet = *WorkerFleet::begin(how, clock);
  const double until = clock.now() + 120;
  while (clock.now() < until) {
    const auto news = fleet->next(0.1);
    if (meanwhile) meanwhile(*fleet);
    if (news && std::holds_alternative<Fleet::Lost>(*news)) return std::get<Fleet::Lost>(*news).reason;
  }
  return "nothing";
}

void send_all(Channel& channel, WireKind kind, const std::string& text) {
  channel.send(static_cast<std::uint16_t>(kind), text);
  channel.flush(60);
}

TEST_F(BadWorkerTest, IsDroppedForMessagesOutOfOrder) {
  const std::string report = with_token(1, with_token(1, encode(Report(PausedReport{}))));
  const auto loss = [&](const std::function<void(Channel&)>& work) {
    return loss_of(
        [&](Channel& channel) {
          work(channel);
          while (!channel.closed()) static_cast<void>(channel.receive(1));
        },
        clock_, folder_);
  };
  EXPECT_EQ(loss([&](Channel& channel) { send_all(channel, WireKind::kReport, report); }),
            "(bad) was dropped: it sent a message of kind 3 before it was ready");
  EXPECT_EQ(loss([](Channel& channel) { send_all(channel, WireKind::kBeat, "2\n"); }),
            "(bad) was dropped: it sent message 2; due is message 1");
  EXPECT_EQ(loss([](Channel& channel) {
              send_all(channel, WireKind::kReady, "1\n");
              send_all(channel, WireKind::kReady, "2\n");
            }),
            "(bad) was dropped: it sent a message of kind 2 twice");
  EXPECT_EQ(loss([](Channel& channel) { send_all(channel, WireKind::kBeat, ""); }),
            "(bad) was dropped: it sent what is no message (it has no number)");
  EXPECT_EQ(loss([](Channel& channel) { send_all(channel, WireKind::kBeat, std::string(100, '1')); }),
            "(bad) was dropped: it sent what is no message (a message of 100 bytes; allowed: up to 64 for kind 40)");
}

TEST_F(BadWorkerTest, IsDroppedForAnAnswerWithoutAQuestion) {
  WorkerBrief brief;
  brief.study_folder = folder_;
  brief.workers = 1;
  ProcessOptions how;
  how.elsewhere = {{"bad", speaking([](Channel& channel) {
                      send_all(channel, WireKind::kReady, "1\n");
                      send_all(channel, WireKind::kAnswer, with_token(2, encode_metrics({{"test_accuracy", 1}})));
                      while (!channel.closed()) static_cast<void>(channel.receive(1));
                    })}};
  auto executor = *ProcessExecutor::create(brief, real_file_system(), clock_, how);
  ASSERT_TRUE(executor->start(short_job(1)));
  std::string reason;
  while (reason.empty()) {
    const auto report = executor->next(60);
    ASSERT_TRUE(report);
    if (const auto* lost = std::get_if<WorkerReport>(&*report)) reason = lost->reason;
  }
  EXPECT_EQ(reason, "(bad) was dropped: it answered a question that was not asked");
}

TEST_F(BadWorkerTest, IsDroppedForHeartbeatsWithoutEnd) {
  const std::string loss = loss_of(
      [](Channel& channel) {
        for (int number = 1; !channel.closed(); ++number) {
          send_all(channel, WireKind::kBeat, with_token(static_cast<std::uint64_t>(number), ""));
          static_cast<void>(channel.receive(0));
        }
      },
      clock_, folder_);
  EXPECT_TRUE(loss.starts_with("(bad) was dropped: it sent ") && loss.ends_with(" were due")) << loss;
}

TEST_F(BadWorkerTest, IsDroppedForMessagesWithoutProgress) {
  const std::string loss = loss_of(
      [](Channel& channel) {
        send_all(channel, WireKind::kReady, "1\n");
        for (std::uint64_t number = 2; !channel.closed(); ++number) {
          send_all(channel, WireKind::kInHand, with_token(number, encode(std::vector<TrialId>())));
          static_cast<void>(channel.receive(0));
        }
      },
      clock_, folder_, lease_of(20));
  EXPECT_EQ(loss, "(bad) was dropped: it sent 100000 messages without any progress");
}

TEST_F(BadWorkerTest, IsDroppedIfItDoesNotRead) {
  const std::string loss = loss_of(
      [](Channel& channel) {
        send_all(channel, WireKind::kReady, "1\n");
        ::pause();
      },
      clock_, folder_, lease_of(20, 60, std::size_t{1} << 20),
      [](WorkerFleet& fleet) { fleet.send(0, WireKind::kQuestion, std::string(std::size_t{1} << 19, 'q')); });
  EXPECT_TRUE(loss.starts_with("(bad) was dropped: it does not read: ")) << loss;
}

TEST_F(BadWorkerTest, IsLostIfItIsNeverReady) {
  const std::string loss = loss_of(
      [](Channel& channel) {
        for (std::uint64_t number = 1; !channel.closed(); ++number) {
          send_all(channel, WireKind::kBeat, with_token(number, ""));
          static_cast<void>(channel.receive(0.5));
        }
      },
      clock_, folder_, lease_of(20, 0.1));
  EXPECT_EQ(loss, "(bad) was not ready to work within 2.0 s");
}

TEST_F(BadWorkerTest, IsLostWithAFrameThatNeverEnds) {
  const std::string loss = loss_of(
      [](Channel& channel) {
        std::string frame;
        encode_frame(static_cast<std::uint16_t>(WireKind::kBeat), std::string(60, '1'), frame);
        for (const char byte : frame) {
          static_cast<void>(::send(channel.socket(), &byte, 1, MSG_NOSIGNAL));
          static_cast<void>(channel.receive(0.2));
        }
      },
      clock_, folder_);
  EXPECT_TRUE(loss.starts_with("(bad) was silent for 2.0 s")) << loss;
}

TEST_F(BadWorkerTest, CannotFillTheEngineWithConnections) {
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
