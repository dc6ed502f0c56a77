// That executors behind messages say what becomes of their processes.
#include "lanista/engine/process_executor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/breeding.h"
#include "lanista/engine/custom_study.h"
#include "lanista/engine/fake_executor.h"
#include "lanista/graph/text.h"

namespace lanista::engine::testing {
namespace {

Job small_job() {
  Job job;
  job.trial = TrialId{1};
  job.model = *graph::parse("%0 = input(shape=[6])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n");
  job.recipe.epochs = 4;
  return job;
}

void serve_fake(Channel& channel) {
  MemoryFileSystem disk;
  FakeExecutor fake({}, store::CheckpointStore(disk, "study"));
  serve(channel, fake);
}

/// What it is broken by, within so many reports.
Error breaks(Executor& executor) {
  for (int i = 0; i < 100; ++i) {
    const auto report = executor.next(10);
    if (!report) break;
    if (const auto* broken = std::get_if<BrokenReport>(&*report)) return broken->error;
  }
  ADD_FAILURE() << "not broken";
  return {Code::kInternal, "", ""};
}

TEST(ProcessExecutor, IsBrokenWhenItsProcessDies) {
  for (const bool started : {false, true}) {
    ProcessExecutor executor(serve_fake);
    if (started) {
      ASSERT_TRUE(executor.start(small_job()));
      executor.command(Allow{TrialId{1}, 4});
      ASSERT_TRUE(executor.next(10));
    }

    ASSERT_EQ(::kill(executor.child(), SIGKILL), 0);

    EXPECT_EQ(breaks(executor).code, Code::kUnavailable);
    EXPECT_TRUE(executor.start(small_job())) << "next() tells why";
    executor.command(PauseAll{});
    EXPECT_EQ(breaks(executor).code, Code::kUnavailable);
    EXPECT_EQ(executor.test(small_job(), "abcd").error().code, Code::kUnavailable);
  }
}

TEST(ProcessExecutor, IsBrokenByWhatIsNoMessage) {
  ProcessExecutor babbles([](Channel& channel) {
    channel.send('r', "{\"kind\": \"dance\"}");
    channel.flush();
  });
  EXPECT_EQ(breaks(babbles).code, Code::kDataLoss);

  for (const char kind : {'o', 't', 'x'}) {
    ProcessExecutor executor(serve_fake);
    executor.say(kind, "{\"kind\": \"dance\"}");
    EXPECT_EQ(breaks(executor).code, Code::kDataLoss) << kind;
  }
}

TEST(Channel, HearsMessagesInWhateverPiecesTheyCome) {
  const Rng root(5);
  for (std::uint64_t number = 0; number < 100; ++number) {
    Rng rng = root.split(number);
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    std::vector<std::string> said;
    std::string bytes;
    for (std::uint64_t i = 1 + rng.below(5); i > 0; --i) {
      said.emplace_back(rng.below(40), static_cast<char>('a' + rng.below(26)));
      const auto size = static_cast<std::uint32_t>(said.back().size());
      bytes.append(reinterpret_cast<const char*>(&size), sizeof(size)).append("m").append(said.back());
    }
    const std::size_t cut = rng.below(3) == 0 ? rng.below(bytes.size()) : bytes.size();
    std::vector<std::string> heard;
    Channel channel(ends[0]);
    const auto listen = [&](double seconds) {
      while (const auto message = channel.receive(seconds)) heard.push_back(message->text);
    };
    for (std::size_t at = 0; at < cut;) {
      const std::size_t piece = std::min<std::size_t>(1 + rng.below(9), cut - at);
      ASSERT_EQ(::write(ends[1], bytes.data() + at, piece), static_cast<ssize_t>(piece));
      at += piece;
      listen(0);
    }
    ::close(ends[1]);
    listen(10);

    ASSERT_TRUE(channel.closed());
    ASSERT_LE(heard.size(), said.size());
    for (std::size_t i = 0; i < heard.size(); ++i) ASSERT_EQ(heard[i], said[i]);
    if (cut == bytes.size()) {
      ASSERT_EQ(heard.size(), said.size());
    }
  }
}

// Both write more than the system keeps for them, before either reads.
TEST(Channel, LetsBothSidesWriteAtOnce) {
  const std::string large(3'000'000, 'x');
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  std::array<int, 2> heard{};
  {
    std::vector<std::jthread> sides;
    for (std::size_t side = 0; side < 2; ++side) {
      sides.emplace_back([&, side] {
        Channel channel(ends[side]);
        for (int i = 0; i < 3; ++i) channel.send('m', large);
        while (heard[side] < 3) {
          const auto message = channel.receive(30);
          if (!message || message->text != large) break;
          ++heard[side];
        }
        channel.flush();
      });
    }
  }

  EXPECT_EQ(heard, (std::array<int, 2>{3, 3}));
}

TEST(WireExecutor, ChangesNothingOfAStudy) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const Custom study = breeding(small_study(16), seed);
    Bench plain, wired;
    ASSERT_TRUE(study.go_on(plain, 0).ok());
    FakeOptions options = kOptions;
    options.seed = seed;
    options.clock = &wired.clock;
    WireExecutor wire(std::make_unique<FakeExecutor>(options, store::CheckpointStore(wired.disk, kFolder)));

    const auto end = study.go_on(wired.services(wired.disk, wire));

    ASSERT_TRUE(end.ok()) << end.error().text();
    ASSERT_EQ(first_difference(wired.canonical(), plain.canonical()), "");
  }
}

}  // namespace
}  // namespace lanista::engine::testing
