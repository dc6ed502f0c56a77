#include "lanista/base/json_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lanista/base/json_object.h"
#include "lanista/base/rng.h"

namespace lanista {
namespace {

using nlohmann::json;

constexpr auto kReplace = json::error_handler_t::replace;

/// Random documents with all kinds of values and numbers of any bits.
class RandomJson {
 public:
  explicit RandomJson(Rng rng) : rng_(rng) {}

  json value(int depth) {
    switch (rng_.below(depth > 0 ? 9 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return rng_.bernoulli(0.5);
      case 2:
        return static_cast<std::int64_t>(bits());
      case 3:
        return bits();
      case 4:
        return std::bit_cast<double>(bits());
      case 5:
        return text();
      case 6:
        return static_cast<double>(rng_.below(2000)) / 8 - 100;
      case 7: {
        json list = json::array();
        for (auto n = rng_.below(4); n > 0; --n) list.push_back(value(depth - 1));
        return list;
      }
      default: {
        json object = json::object();
        for (auto n = rng_.below(4); n > 0; --n) object[text()] = value(depth - 1);
        return object;
      }
    }
  }

 private:
  std::uint64_t bits() { return rng_.below(std::numeric_limits<std::uint64_t>::max()) >> rng_.below(64); }
  std::string text() {
    std::string out;
    const bool plain = rng_.bernoulli(0.5);
    for (auto n = rng_.below(12); n > 0; --n) {
      out += plain ? static_cast<char>('a' + rng_.below(26)) : static_cast<char>(rng_.below(256));
    }
    return out;
  }

  Rng rng_;
};

/// The numbers of a document, one in each line, with 17 digits, so that only values are compared.
json without_number_notation(const json& value) {
  if (value.is_number_float()) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", value.get<double>());
    return digits;
  }
  json out = value;
  if (value.is_structured()) {
    for (auto& each : out) each = without_number_notation(each);
  }
  return out;
}

TEST(JsonText, MatchesLibraryDump) {
  const Rng root(20261123);
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    const json value = RandomJson(root.split(number)).value(3);
    const std::string theirs = value.dump(-1, ' ', false, kReplace), ours = json_text(value);
    const json read = json::parse(ours, nullptr, false);
    ASSERT_FALSE(read.is_discarded()) << ours;
    ASSERT_EQ(without_number_notation(read), without_number_notation(json::parse(theirs))) << ours << "\n" << theirs;
  }
}

TEST(JsonText, KeepsNumberKinds) {
  EXPECT_EQ(json_text({1, -1, 1.0, -0.0, 1e300, 5e-324, 0.1}), "[1,-1,1.0,-0.0,1e+300,5e-324,0.1]");
  EXPECT_EQ(json_text(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json_text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(JsonText, EscapesAndReplaces) {
  EXPECT_EQ(json_text({{"a\"\n", "\xff"}}), json({{"a\"\n", "\xff"}}).dump(-1, ' ', false, kReplace));
  EXPECT_EQ(json_text("plain text"), "\"plain text\"");
  EXPECT_EQ(json_text(json::object()), "{}");
  EXPECT_EQ(json_text(json::array()), "[]");
}

TEST(JsonObject, AlternatesNamesAndValues) {
  const std::string name = "a name of more letters than a small string holds";
  json list = json::array({1, 2});

  EXPECT_EQ(json_object(), json::object());
  EXPECT_EQ(json_object("b", 1, name, 2.5, "list", std::move(list), "inner", json_object("c", true)),
            json({{"b", 1}, {name, 2.5}, {"list", {1, 2}}, {"inner", {{"c", true}}}}));
}

}  // namespace
}  // namespace lanista
