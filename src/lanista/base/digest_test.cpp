#include "lanista/base/digest.h"

#include <set>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

namespace lanista {
namespace {

// The published XXH3-128 of the empty input, seed 0.
TEST(Digest, IsXxh3) { EXPECT_EQ(hash_text("").hex(), "99aa06d3014798d86001c324468d497f"); }

TEST(Digest, HexIsTheInverseOfFromHex) {
  const Digest d{0x0123456789abcdefULL, 0xfedcba9876543210ULL};
  EXPECT_EQ(d.hex(), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(Digest::from_hex(d.hex()), d);
  EXPECT_EQ(Digest::from_hex(hash_text("a").hex()), hash_text("a"));
}

TEST(Digest, FromHexRefusesEverythingElse) {
  const std::string good(32, 'a');
  EXPECT_TRUE(Digest::from_hex(good));
  EXPECT_FALSE(Digest::from_hex(""));
  EXPECT_FALSE(Digest::from_hex(good + "a"));
  EXPECT_FALSE(Digest::from_hex(good.substr(1)));
  for (const char bad : {'g', 'A', ' ', '-', '\0'}) {
    std::string text = good;
    text[20] = bad;
    EXPECT_FALSE(Digest::from_hex(text)) << bad;
  }
}

TEST(Hasher, FeedingInPiecesGivesTheSameDigest) {
  const std::string text(1000, 'x');
  const auto bytes = std::as_bytes(std::span(text));
  Hasher pieces;
  for (std::size_t at = 0; at < bytes.size(); at += 7)
    pieces.bytes(bytes.subspan(at, std::min<std::size_t>(7, bytes.size() - at)));
  EXPECT_EQ(pieces.finish(), hash_bytes(bytes));
  EXPECT_EQ(pieces.finish(), hash_text(text));
}

TEST(Hasher, FieldsAreLengthPrefixed) {
  EXPECT_NE(Hasher().text("ab").text("c").finish(), Hasher().text("a").text("bc").finish());
  EXPECT_NE(Hasher().text("").finish(), Hasher().finish());
  EXPECT_NE(Hasher().text("a").text("").finish(), Hasher().text("a").finish());
}

TEST(Hasher, EveryValueKindChangesTheDigest) {
  std::set<Digest> seen;
  seen.insert(Hasher().finish());
  seen.insert(Hasher().number(1).finish());
  seen.insert(Hasher().number(-1).finish());
  seen.insert(Hasher().real(1.0).finish());
  seen.insert(Hasher().digest({0, 1}).finish());
  seen.insert(Hasher().digest({1, 0}).finish());
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Hasher, FinishCanBeCalledMidway) {
  Hasher hasher;
  hasher.number(1);
  const Digest one = hasher.finish();
  EXPECT_EQ(hasher.finish(), one);
  EXPECT_EQ(hasher.number(2).finish(), Hasher().number(1).number(2).finish());
}

TEST(Digest, WorksAsAHashKey) {
  std::unordered_set<Digest> set{hash_text("a"), hash_text("b"), hash_text("a")};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace lanista
