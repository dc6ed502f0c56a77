#include "lanista/app/cli/tensor_compare.h"

#include <cmath>

#include <gtest/gtest.h>

namespace lanista::cli {
namespace {

Tensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  Tensor tensor{.name = {}, .type = ElementType::kF32, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::ranges::copy(values, elements_of<float>(tensor).begin());
  return tensor;
}

TEST(Compare, CountsDifferencesAndNamesLargest) {
  const auto actual = floats({2, 2}, {1, 2.5F, 3, 100.5F});
  const auto expected = floats({2, 2}, {1, 2, 3, 100});

  const auto result = compare(actual, expected, 0.01, 0.1);

  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->num_outside_tolerance, 1U);
  EXPECT_EQ(result->max_difference, 0.5);
  EXPECT_EQ(result->text,
            "largest difference 0.5, worst at [0, 1]: 2.5 where 2 is expected; 1 of 4 elements beyond 0.1 + 0.01 "
            "|expected|");
}

TEST(Compare, TreatsEqualInfinitiesAsEqualAndNaNAsDifferent) {
  const float nan = std::nanf("");
  EXPECT_EQ(compare(floats({2}, {HUGE_VALF, 1}), floats({2}, {HUGE_VALF, 1}), 0, 0)->num_outside_tolerance, 0U);
  EXPECT_EQ(compare(floats({2}, {HUGE_VALF, 1}), floats({2}, {-HUGE_VALF, 1}), 1e-3, 0)->num_outside_tolerance, 1U);
  const auto result = compare(floats({3}, {1, nan, 5}), floats({3}, {1, nan, 1}), 1e-3, 0);
  EXPECT_EQ(result->num_outside_tolerance, 2U);
  EXPECT_TRUE(std::isnan(result->max_difference));
}

TEST(Compare, RefusesDifferentShapes) {
  const auto result = compare(floats({2}, {1, 2}), floats({1, 2}, {1, 2}), 0, 0);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  EXPECT_EQ(result.error().message, "the output of the model is [2]; expected: [1, 2]");
}

}  // namespace
}  // namespace lanista::cli
