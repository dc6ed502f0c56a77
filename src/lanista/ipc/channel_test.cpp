#include "lanista/ipc/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/frame.h"
#include "lanista/base/rng.h"

namespace lanista::engine {
namespace {

constexpr std::uint16_t kKind = 7;

// From any pieces the same messages result, as far as they are whole. From damaged bytes fewer messages and an error
// result.
TEST(FrameReader, SplitsStreamIntoMessages) {
  const Rng root(6);
  int damaged = 0;
  for (std::uint64_t number = 0; number < 500; ++number) {
    Rng rng = root.split(number);
    std::vector<Message> sent;
    std::string bytes;
    for (std::uint64_t i = 1 + rng.below(6); i > 0; --i) {
      const auto kind = static_cast<std::uint16_t>(rng.below(65536));
      sent.push_back({kind, std::string(rng.below(60), static_cast<char>(rng.below(256)))});
      encode_frame(sent.back().kind, sent.back().text, bytes);
    }
    const bool tampers = rng.below(3) == 0;
    if (tampers) bytes[rng.below(bytes.size())] ^= static_cast<char>(1 + rng.below(255));
    FrameReader reader;
    std::vector<Message> received;
    std::optional<Error> fault;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min<std::size_t>(1 + rng.below(20), bytes.size() - at);
      reader.feed(std::string_view(bytes).substr(at, piece));
      at += piece;
      while (true) {
        auto message = reader.next();
        if (!message) fault = message.error();
        if (!message || !*message) break;
        ASSERT_FALSE(fault) << "it continues after damage";
        received.push_back(**message);
      }
    }
    ASSERT_LE(received.size(), sent.size());
    for (std::size_t i = 0; i < received.size(); ++i) ASSERT_EQ(received[i], sent[i]) << number;
    if (tampers) {
      ASSERT_LT(received.size(), sent.size()) << "damage went through";
      damaged += fault.has_value() ? 1 : 0;
    } else {
      ASSERT_EQ(received.size(), sent.size());
      ASSERT_TRUE(reader.empty());
    }
    if (fault) {
      EXPECT_EQ(fault->code, Code::kDataLoss);
    }
  }
  EXPECT_GT(damaged, 100);
}

TEST(FrameReader, RefusesLongMessagesOfAKindByTheirHeader) {
  FrameReader reader;
  reader.set_limit([](std::uint16_t kind) -> std::size_t { return kind == kKind ? 10 : 0; });
  std::string bytes;
  encode_frame(kKind, "0123456789", bytes);
  encode_frame(kKind, "0123456789+", bytes);
  bytes.resize(bytes.size() - 14);  // the text of the second one is missing
  reader.feed(bytes);
  ASSERT_TRUE(reader.next());
  const auto second = reader.next();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "a message of 11 bytes; allowed: up to 10 for kind 7");
}

TEST(FrameReader, RefusesOversizedLengthFromHeader) {
  FrameReader reader;
  std::string header(kFrameHeader, '\0');
  header[3] = 0x7f;

  reader.feed(header);

  const auto message = reader.next();
  ASSERT_FALSE(message);
  EXPECT_NE(message.error().message.find("allowed: up to 67108864"), std::string::npos) << message.error().message;
}

TEST(Channel, ReceivesSplitMessages) {
  const Rng root(5);
  for (std::uint64_t number = 0; number < 100; ++number) {
    Rng rng = root.split(number);
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    std::vector<std::string> sent;
    std::string bytes;
    for (std::uint64_t i = 1 + rng.below(5); i > 0; --i) {
      sent.emplace_back(rng.below(40), static_cast<char>('a' + rng.below(26)));
      encode_frame(kKind, sent.back(), bytes);
    }
    const std::size_t cut = rng.below(3) == 0 ? rng.below(bytes.size()) : bytes.size();
    std::vector<std::string> received;
    Channel channel(ends[0]);
    const auto listen = [&](double seconds) {
      while (const auto message = channel.receive(seconds)) received.push_back(message->text);
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
    ASSERT_LE(received.size(), sent.size());
    for (std::size_t i = 0; i < received.size(); ++i) ASSERT_EQ(received[i], sent[i]);
    if (cut == bytes.size()) {
      ASSERT_EQ(received.size(), sent.size());
    }
  }
}

// Both sides write more than the system buffers, before either reads.
TEST(Channel, AllowsBothSidesToWriteAtOnce) {
  const std::string large(3'000'000, 'x');
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  std::array<int, 2> received{};
  {
    std::vector<std::jthread> sides;
    for (std::size_t side = 0; side < 2; ++side) {
      sides.emplace_back([&, side] {
        Channel channel(ends[side]);
        for (int i = 0; i < 3; ++i) channel.send(kKind, large);
        while (received[side] < 3) {
          const auto message = channel.receive(30);
          if (!message || message->text != large) break;
          ++received[side];
        }
        channel.flush(30);
      });
    }
  }

  EXPECT_EQ(received, (std::array<int, 2>{3, 3}));
}

TEST(Channel, ClosesAtInvalidMessageWithReason) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  Channel channel(ends[0]);
  std::string bytes;
  encode_frame(kKind, "good", bytes);
  bytes += "GET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));

  EXPECT_EQ(channel.receive(10), (Message{kKind, "good"}));
  EXPECT_FALSE(channel.receive(10));

  EXPECT_TRUE(channel.closed());
  ASSERT_TRUE(channel.fault());
  EXPECT_EQ(channel.fault()->code, Code::kDataLoss);
  ::close(ends[1]);
}

}  // namespace
}  // namespace lanista::engine
