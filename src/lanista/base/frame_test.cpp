#include "lanista/base/frame.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lanista/base/check.h"
#include "lanista/base/crc32c.h"
#include "lanista/base/rng.h"

namespace lanista {
namespace {

const std::string kLong(300, 'x');
const std::vector<Frame> kFrames{{1, "one"}, {65535, ""}, {7, std::string_view("z\0ro", 4)}, {2, kLong}};

std::string encoded() {
  std::string bytes;
  for (const Frame& f : kFrames) encode_frame(f.type, f.payload, bytes);
  return bytes;
}

// The end of each frame.
std::vector<std::size_t> ends() {
  std::vector<std::size_t> at;
  std::size_t end = 0;
  for (const Frame& f : kFrames) at.push_back(end += 12 + f.payload.size());
  return at;
}

std::vector<Frame> first(std::size_t count) {
  return {kFrames.begin(), kFrames.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(Crc32c, GivesThePublishedAnswers) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
  const std::string zeros(32, '\0');
  EXPECT_EQ(crc32c(std::as_bytes(std::span(zeros))), 0x8A9136AAU);  // RFC 3720, B.4
  const std::string ones(32, '\xff');
  EXPECT_EQ(crc32c(std::as_bytes(std::span(ones))), 0x62A8AB43U);
}

TEST(Crc32c, InstructionAndTableAgreeAndContinue) {
  Rng rng(1);
  for (std::size_t size = 0; size < 200; ++size) {
    std::vector<std::byte> data(size);
    for (auto& b : data) b = static_cast<std::byte>(rng.below(256));
    const std::span all(data);
    const auto whole = crc32c(all);
    EXPECT_EQ(crc32c_table(all), whole);
    const std::size_t cut = rng.below(size + 1);
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), whole);
  }
}

TEST(Frame, HasTheDocumentedBytes) {
  std::string bytes;
  encode_frame(0x0102, "ab", bytes);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x02\0\0\0\x02\x01\0\0ab", 10));
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)).first(10));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(static_cast<unsigned char>(bytes[10 + i]), crc >> (8 * i) & 255);
  EXPECT_EQ(bytes.size(), 14u);
}

TEST(Frame, WholeFilesRoundTrip) {
  const std::string bytes = encoded();
  const DecodedFrames scan = decode_frames(bytes);
  EXPECT_EQ(scan.frames, kFrames);
  EXPECT_EQ(scan.num_valid_bytes, bytes.size());
  EXPECT_FALSE(scan.torn || scan.has_data_after_damage);
  EXPECT_TRUE(decode_frames("").frames.empty());
  EXPECT_FALSE(decode_frames("").torn);
}

TEST(Frame, EveryTruncationIsATornTail) {
  const std::string bytes = encoded();
  const auto end = ends();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto whole = static_cast<std::size_t>(std::upper_bound(end.begin(), end.end(), size) - end.begin());
    const DecodedFrames scan = decode_frames(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(scan.frames, first(whole)) << size;
    EXPECT_EQ(scan.num_valid_bytes, whole == 0 ? 0 : end[whole - 1]) << size;
    EXPECT_EQ(scan.torn, scan.num_valid_bytes != size) << size;
    EXPECT_FALSE(scan.has_data_after_damage) << size;
  }
}

TEST(Frame, StopsAtEveryFlippedByte) {
  const std::string good = encoded();
  const auto end = ends();
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int mask : {1, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      const auto hit = static_cast<std::size_t>(std::upper_bound(end.begin(), end.end(), at) - end.begin());
      const DecodedFrames scan = decode_frames(bytes);
      EXPECT_EQ(scan.frames, first(hit)) << at;
      EXPECT_EQ(scan.num_valid_bytes, hit == 0 ? 0 : end[hit - 1]) << at;
      EXPECT_TRUE(scan.torn) << at;
      EXPECT_EQ(scan.has_data_after_damage, hit + 1 < kFrames.size()) << at;
    }
  }
}

TEST(Frame, ZerosAfterTheEndAreATornTail) {
  const std::string bytes = encoded() + std::string(4096, '\0');
  const DecodedFrames scan = decode_frames(bytes);
  EXPECT_EQ(scan.frames, kFrames);
  EXPECT_TRUE(scan.torn);
  EXPECT_FALSE(scan.has_data_after_damage);
}

TEST(Frame, ManyLongHeadersAreCorruption) {
  // Every eighth byte begins a header that claims half of the file: 65,000 checksums of half a megabyte each.
  std::string bytes = encoded();
  for (int i = 0; i < 1 << 17; ++i) bytes += std::string_view("\0\0\x08\0\1\0\0\0", 8);
  const DecodedFrames scan = decode_frames(bytes);
  EXPECT_EQ(scan.frames, kFrames);
  EXPECT_TRUE(scan.has_data_after_damage);
}

TEST(Frame, PayloadsAboveTheLimitAreABug) {
  std::string out;
  EXPECT_THROW(encode_frame(1, std::string((std::size_t{64} << 20) + 1, 'x'), out), InternalError);
  EXPECT_EQ(out, "");
}

TEST(Frame, RandomBytesNeverBreakTheReader) {
  Rng rng(2);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(rng.below(64), '\0');
    for (auto& c : bytes) c = static_cast<char>(rng.below(rng.bernoulli(0.5) ? 2 : 256));
    const DecodedFrames scan = decode_frames(bytes);
    EXPECT_LE(scan.num_valid_bytes, bytes.size());
    EXPECT_EQ(scan.torn, scan.num_valid_bytes != bytes.size());
  }
}

}  // namespace
}  // namespace lanista
