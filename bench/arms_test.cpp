#include "bench/arms.h"

#include <gtest/gtest.h>

namespace lanista::bench {
namespace {

TEST(Arms, RunOncePerRoundAndRotateFirst) {
  std::string order;
  double clock = 0;
  const auto arm = [&](const std::string& name) {
    return Arm{name, [&, name] {
                 order += name;
                 return ++clock;
               }};
  };

  const auto values = run_rounds({arm("a"), arm("b"), arm("c")}, 3);

  EXPECT_EQ(order, "abcbcacab");
  EXPECT_EQ(values, (std::vector<std::vector<double>>{{1, 6, 8}, {2, 4, 9}, {3, 5, 7}}));
}

// Binomial(9, 1/2) is below 2 with a probability of 10/512. Binomial(21, 1/2) is below 6 with a probability of 0.0133.
TEST(MedianLowerBound, IsOrderStatisticForConfidence95) {
  std::vector<double> values;
  for (int i = 21; i > 0; --i) values.push_back(i);
  EXPECT_EQ(median_lower_bound(values), 6);
  EXPECT_EQ(median_lower_bound({9, 8, 7, 6, 5, 4, 3, 2, 1}), 2);
  EXPECT_EQ(median_lower_bound({5, 4, 3, 2, 1}), 1);
}

}  // namespace
}  // namespace lanista::bench
