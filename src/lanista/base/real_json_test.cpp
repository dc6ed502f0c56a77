#include "lanista/base/real_json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lanista/base/rng.h"

namespace lanista {
namespace {

using Json = nlohmann::json;

std::optional<double> read_back(double value) { return parse_real_json(Json::parse(real_json(value).dump())); }

TEST(RealJson, RoundTripsExactly) {
  using Limits = std::numeric_limits<double>;
  std::vector<double> values{0.0,
                             -0.0,
                             0.1,
                             Limits::max(),
                             Limits::min(),
                             Limits::denorm_min(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             -Limits::denorm_min()};
  Rng rng(5);
  while (values.size() < 2000) {
    const auto any = std::bit_cast<double>(rng.next());
    if (!std::isnan(any)) values.push_back(any);
  }
  for (const double value : values) {
    const auto back = read_back(value);
    ASSERT_TRUE(back) << value;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*back), std::bit_cast<std::uint64_t>(value)) << value;
  }
  const auto nan = read_back(Limits::quiet_NaN());
  ASSERT_TRUE(nan);
  EXPECT_TRUE(std::isnan(*nan));
}

TEST(RealJson, RefusesNumbersThatJsonLoses) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const Json& value : {Json(), Json("NaN"), Json("1"), Json(true), Json::array(), Json(inf), Json(-inf)}) {
    EXPECT_FALSE(parse_real_json(value)) << value;
  }
}

TEST(RealJson, FindsNestedNonFiniteNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has_non_finite_number(nan));
  EXPECT_TRUE(has_non_finite_number({{"a", {1, {{"b", nan}}}}}));
  EXPECT_FALSE(has_non_finite_number({{"a", {1, 2.5, "nan", {{"b", Json()}}}}}));
}

}  // namespace
}  // namespace lanista
