// Rank 0 of a pipeline applies messages for its memory, forwards others, and refuses invalid ones.
#include "lanista/exec/pipeline_parallel/stage_channel_transport.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/frame.h"
#include "lanista/base/rng.h"
#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::runtime {
namespace {

using Kind = program::StageSignal::Kind;

constexpr std::int64_t kSize = 1 << 20;

// Three ranks with a stage each. Rank 0 sends bytes 1000 to 2000 to rank 1, and so on.
program::StageMemoryMap map() {
  return {.bytes = kSize,
          .program = {},
          .rank_of = {0, 1, 2},
          .ranks = 3,
          .pieces = 4,
          .routes = {{0, 1, 1000, 2000}, {1, 0, 3000, 4000}, {1, 2, 5000, 900000}, {2, 1, 6000, 7000}}};
}

std::string text_of(std::int64_t bytes, char fill = 'x') { return std::string(static_cast<std::size_t>(bytes), fill); }

class StageChannelTransports : public ::testing::Test {
 protected:
  StageChannelTransports() {
    for (std::size_t i = 0; i < 2; ++i) {
      std::array<int, 2> ends{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
      ours_.emplace_back(ends[0]);
      theirs_.emplace_back(ends[1]);
    }
    first_ = begin(0, {&ours_[0], &ours_[1]});
  }

  std::unique_ptr<StageChannelTransport> begin(std::uint32_t own, std::vector<engine::Channel*> ends,
                                               double patience = StageChannelTransport::kHeartbeatTimeoutSeconds) {
    memories_[own] = program::AlignedBytes(kSize);
    return std::make_unique<StageChannelTransport>(map(), memory(own), own, std::move(ends), patience);
  }
  std::byte* memory(std::uint32_t rank) { return memories_[rank].data(); }
  std::vector<std::byte> all_of(std::uint32_t rank) { return {memory(rank), memory(rank) + kSize}; }

  void send(std::size_t end, StageWire kind, std::string_view text) {
    theirs_[end].send(static_cast<std::uint16_t>(kind), text);
    theirs_[end].flush(5);
  }
  void send(std::size_t end, std::uint32_t from, const program::StageSignal& word) {
    send(end, StageWire::kSignal, encode(SignalMessage{from, word}));
  }

  std::optional<StageChannelTransport::Fault> fault(double seconds = 120) {
    std::optional<StageChannelTransport::Fault> found;
    until([&] { return (found = first_->fault()).has_value(); }, seconds);
    return found;
  }
  static bool until(const std::function<bool()>& holds, double seconds = 120) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  std::array<program::AlignedBytes, 3> memories_;
  std::vector<engine::Channel> ours_, theirs_;
  std::unique_ptr<StageChannelTransport> first_;
};

TEST_F(StageChannelTransports, CarryMemoryAndSignalsBetweenRanks) {
  auto second = begin(1, {&theirs_[0]}), third = begin(2, {&theirs_[1]});
  const program::StageProgress here(memory(0), 3), there(memory(2), 3);
  Rng rng(1);
  std::vector<std::byte> bytes(890000);
  for (std::byte& each : bytes) each = static_cast<std::byte>(rng.below(256));

  second->write(2, 5000, bytes);  // in several messages, by rank 0
  second->write(0, 3100, std::span(bytes).first(800));
  second->send({.stage = 1, .pieces = 3});

  ASSERT_TRUE(until([&] { return there.has_reached(true, 1, 3) && here.has_reached(true, 1, 3); }));
  EXPECT_EQ(std::memcmp(memory(2) + 5000, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(std::memcmp(memory(0) + 3100, bytes.data(), 800), 0);
  EXPECT_FALSE(there.has_reached(false, 1, 1) || there.has_reached(true, 1, 4) || there.has_reached(true, 2, 1));
  first_->send({.kind = Kind::kBegin});
  ASSERT_TRUE(until([&] { return !there.has_reached(true, 1, 1); })) << "a step begins with nothing done";
  third->send({.kind = Kind::kStop, .reason = "no more"});
  const program::StageProgress between(memory(1), 3);
  ASSERT_TRUE(until([&] { return here.is_stopped() && between.is_stopped(); }));
  EXPECT_EQ(between.reason(), "no more");
  EXPECT_FALSE(first_->fault() || second->fault() || third->fault());
}

TEST_F(StageChannelTransports, ReturnMessagesOfOtherKinds) {
  auto second = begin(1, {&theirs_[0]});
  ours_[0].send(static_cast<std::uint16_t>(StageWire::kTask), "another one");
  ASSERT_TRUE(until([&] { return second->has_unread(); }));
  EXPECT_EQ(second->take_unread()->text, "another one");
  EXPECT_FALSE(second->fault());
}

TEST_F(StageChannelTransports, DetectALostRank) {
  theirs_.erase(theirs_.begin() + 1);
  const auto gone = fault();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->end, 1U);
  EXPECT_EQ(gone->why, "");
}

struct Hostile {
  const char* name;
  StageWire kind;
  std::string text;
  const char* message;
};

class HostileStageMessages : public StageChannelTransports, public ::testing::WithParamInterface<Hostile> {};

// Messages of rank 1.
TEST_P(HostileStageMessages, AreReportedAndChangeNothing) {
  const auto before = all_of(0);
  send(0, GetParam().kind, GetParam().text);
  const auto found = fault();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->end, 0U);
  EXPECT_NE(found->why.find(GetParam().message), std::string::npos) << found->why;
  EXPECT_TRUE(all_of(0) == before);
}

std::string bytes_of(std::uint32_t from, std::uint32_t to, std::int64_t at, const std::string& bytes) {
  return encode(StageBytes{from, to, at, bytes});
}
std::string word_of(std::uint32_t from, const program::StageSignal& word) { return encode(SignalMessage{from, word}); }

INSTANTIATE_TEST_SUITE_P(
    All, HostileStageMessages,
    ::testing::Values(
        Hostile{"before", StageWire::kBytes, bytes_of(1, 0, 2999, text_of(10)),
                "rank 1 sends 10 bytes at offset 2999 to rank 0; allowed: within 3000 to 4000"},
        Hostile{"behind", StageWire::kBytes, bytes_of(1, 0, 3995, text_of(6)), "allowed: within 3000 to 4000"},
        Hostile{"far", StageWire::kBytes, bytes_of(1, 0, std::int64_t{1} << 47, text_of(6)), "allowed: within 3000"},
        Hostile{"further", StageWire::kBytes, bytes_of(1, 0, -1, text_of(6)), "a memory range at 18446744073709551615"},
        Hostile{"missing_rank", StageWire::kBytes, bytes_of(1, 7, 3000, text_of(6)), "to rank 7; allowed: none"},
        Hostile{"itself", StageWire::kBytes, bytes_of(1, 1, 3000, text_of(6)), "to rank 1; allowed: none"},
        Hostile{"other", StageWire::kBytes, bytes_of(1, 2, 3000, text_of(6)), "allowed: within 5000 to 900000"},
        Hostile{"as_another", StageWire::kBytes, bytes_of(2, 1, 6000, text_of(6)), "sends as rank 2; it is rank 1"},
        Hostile{"short", StageWire::kBytes, text_of(15), "15 bytes for a memory range; allowed: 16 to 262160"},
        Hostile{"long", StageWire::kBytes, bytes_of(1, 2, 5000, text_of(262145)), "allowed: 16 to 262160"},
        Hostile{"begins", StageWire::kSignal, word_of(1, {.kind = Kind::kBegin}), "begins a step; only rank 0 may"},
        Hostile{"stage", StageWire::kSignal, word_of(1, {.stage = 2, .pieces = 1}),
                "sends progress of stage 2, which belongs to another rank; stages: 3"},
        Hostile{"no_stage", StageWire::kSignal, word_of(1, {.stage = 3, .pieces = 1}), "sends progress of stage 3"},
        Hostile{"pieces", StageWire::kSignal, word_of(1, {.stage = 1, .pieces = 5}), "piece 5; allowed: 1 to 4"},
        Hostile{"no_pieces", StageWire::kSignal, word_of(1, {.stage = 1, .pieces = 0}), "piece 0; allowed: 1 to 4"},
        Hostile{"word_of_another", StageWire::kSignal, word_of(0, {.stage = 0, .pieces = 1}), "sends as rank 0"},
        Hostile{"no_word", StageWire::kSignal, "", "0 bytes for a signal; allowed: 16 to 1040"},
        Hostile{"unknown_word", StageWire::kSignal, std::string("\1\0\0\0\7", 5) + std::string(11, '\0'),
                "a signal of kind 7; allowed: 0 to 3"},
        Hostile{"task", StageWire::kTask, "{}", "sent an unexpected message of kind 60"},
        Hostile{"unknown", static_cast<StageWire>(77), "", "sent an unexpected message of kind 77"}),
    [](const auto& of) { return of.param.name; });

TEST_F(StageChannelTransports, CountEndsOnce) {
  send(0, 1, {.kind = Kind::kEnd});
  send(0, 1, {.kind = Kind::kEnd});
  const auto found = fault();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, "rank 1 has ended a step twice");
}

TEST_F(StageChannelTransports, RefuseFramesThatAreTooLongBeforeTheyAreThere) {
  std::string header(kFrameHeader, '\0');
  header[3] = 0x7f;
  ASSERT_EQ(::write(theirs_[0].socket(), header.data(), header.size()), static_cast<ssize_t>(header.size()));
  const auto found = fault();
  ASSERT_TRUE(found);
  EXPECT_NE(found->why.find("a message of 2130706432 bytes; allowed: up to 67108864"), std::string::npos) << found->why;
}

TEST_F(StageChannelTransports, RefuseFramesThatDoNotMatchTheirChecksum) {
  std::string frame;
  encode_frame(static_cast<std::uint16_t>(StageWire::kBytes), bytes_of(1, 0, 3000, text_of(8)), frame);
  frame[kFrameHeader + 20] ^= 1;
  const auto before = all_of(0);
  ASSERT_EQ(::write(theirs_[0].socket(), frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  const auto found = fault();
  ASSERT_TRUE(found);
  EXPECT_NE(found->why.find("do not match their checksum"), std::string::npos) << found->why;
  EXPECT_TRUE(all_of(0) == before);
}

// Half a frame and then silence, while the other end sends heartbeats.
TEST_F(StageChannelTransports, DropASilentRank) {
  first_.reset();
  first_ = begin(0, {&ours_[0], &ours_[1]}, 2.5);
  auto second = begin(1, {&theirs_[0]});
  std::string frame;
  encode_frame(static_cast<std::uint16_t>(StageWire::kBytes), bytes_of(2, 1, 6000, text_of(500)), frame);
  ASSERT_EQ(::write(theirs_[1].socket(), frame.data(), 300), 300);
  const auto found = fault();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->end, 1U);
  EXPECT_EQ(found->why, "was silent for 2 seconds");
}

// Unsent bytes are kept up to a limit; then the sender waits.
TEST_F(StageChannelTransports, WaitForRanksThatDoNotReadYet) {
  std::atomic<int> num_written = 0;
  const std::jthread writer([&] {
    for (int i = 0; i < 10000; ++i, ++num_written) first_->write(1, 1000, std::vector<std::byte>(1000, std::byte{7}));
    first_->send({.stage = 0, .pieces = 2});
  });
  ASSERT_TRUE(until([&] { return num_written > 900; }));
  EXPECT_FALSE(until([&] { return num_written > 5000; }, 0.3));
  auto second = begin(1, {&theirs_[0]});
  const program::StageProgress there(memory(1), 3);
  ASSERT_TRUE(until([&] { return there.has_reached(true, 0, 2); }));
  EXPECT_EQ(*(memory(1) + 1999), std::byte{7});
  EXPECT_FALSE(first_->fault() || second->fault());
}

TEST_F(StageChannelTransports, DoNotWaitForALostRank) {
  std::atomic<bool> done = false;
  const std::jthread writer([&] {
    for (int i = 0; i < 10000; ++i) first_->write(1, 1000, std::vector<std::byte>(1000));
    done = true;
  });
  EXPECT_FALSE(until([&] { return done.load(); }, 0.3));
  theirs_.erase(theirs_.begin());
  EXPECT_TRUE(until([&] { return done.load(); }));
}

TEST_F(StageChannelTransports, DoNotWaitAfterATask) {
  auto second = begin(1, {&theirs_[0]});
  first_->end();
  std::atomic<bool> done = false;
  const std::jthread writer([&] {
    for (int i = 0; i < 10000; ++i) second->write(0, 3000, std::vector<std::byte>(1000));
    done = true;
  });
  EXPECT_FALSE(until([&] { return done.load(); }, 0.3));
  ours_[0].send(static_cast<std::uint16_t>(StageWire::kTask), "another one");
  EXPECT_TRUE(until([&] { return done.load(); }));
  EXPECT_TRUE(second->has_unread());
}

TEST(StageWire, RoundTrips) {
  Rng rng(4);
  for (int i = 0; i < 200; ++i) {
    const auto number = [&] { return static_cast<std::uint32_t>(rng.below(std::uint64_t{1} << 32)); };
    const std::string bytes = text_of(rng.between(0, 40), static_cast<char>(rng.below(256)));
    const StageBytes piece{number(), number(), rng.between(0, std::int64_t{1} << 48), bytes};
    const std::string text = encode(piece);
    const auto back = decode_stage_bytes(text);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, piece);
    const SignalMessage word{number(),
                             {.kind = static_cast<Kind>(rng.below(4)),
                              .is_forward = rng.bernoulli(0.5),
                              .stage = number(),
                              .pieces = number(),
                              .reason = bytes}};
    const auto again = decode_stage_signal(encode(word));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, word);
  }
}

}  // namespace
}  // namespace lanista::runtime
