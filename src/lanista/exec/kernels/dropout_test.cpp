#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

TEST(Dropout, KeepsAndScalesExactlyThePairsThatTheHashKeeps) {
  for_every_case(91, std::views::iota(0, 30), []<class T>(T, Isa, const auto& family, Rng& rng, int i) {
    const std::int64_t samples = rng.between(1, 5), per_sample = rng.between(1, 100);
    const double p = i % 3 == 0 ? 0.5 : 0.13;
    const DropoutKey key{rng.next(), rng.next(), rng.next()};
    const auto x = random_values<T>(rng, samples * per_sample);
    std::vector<std::int64_t> index;
    std::vector<T> want;
    for (std::int64_t s = 0; s < samples; ++s) {
      index.push_back(static_cast<std::int64_t>(rng.below(1U << 30)));
      for (std::int64_t e = 0; e < per_sample; ++e) {
        const T value = x[static_cast<std::size_t>(s * per_sample + e)];
        want.push_back(dropout_keeps(key, index.back(), e, p) ? value * static_cast<T>(1 / (1 - p)) : T(0));
      }
    }
    Guarded<T> y(samples * per_sample);
    family.dropout(samples, per_sample, index.data(), p, key, x.data(), y.data());
    EXPECT_TRUE(same_bytes(want, y));
  });
}

TEST(Dropout, KeepsEverythingAtZeroAndNothingAtOne) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(92);
    const auto x = random_values<T>(rng, 70);
    const std::int64_t sample = 3;
    Guarded<T> y(70);
    family.dropout(1, 70, &sample, 0.0, {1, 2, 3}, x.data(), y.data());
    EXPECT_TRUE(same_bytes(x, y));
    family.dropout(1, 70, &sample, 1.0, {1, 2, 3}, x.data(), y.data());
    EXPECT_TRUE(same_bytes(std::vector<T>(70), y));
  });
}

TEST(Dropout, SamplesIndependentMasksForEveryPartOfTheKey) {
  const DropoutKey base{7, 8, 9};
  const auto count_equal = [&](DropoutKey key, std::int64_t sample) {
    int equal = 0;
    for (std::int64_t e = 0; e < 2000; ++e) {
      equal += dropout_keeps(key, sample, e, 0.5) == dropout_keeps(base, 1, e, 0.5) ? 1 : 0;
    }
    return equal;
  };
  EXPECT_EQ(count_equal(base, 1), 2000);
  // Independent fair coins agree half the time; five standard deviations are 112.
  EXPECT_NEAR(count_equal({8, 8, 9}, 1), 1000, 112);
  EXPECT_NEAR(count_equal({7, 9, 9}, 1), 1000, 112);
  EXPECT_NEAR(count_equal({7, 8, 10}, 1), 1000, 112);
  EXPECT_NEAR(count_equal({7, 9, 8}, 1), 1000, 112);
  EXPECT_NEAR(count_equal(base, 2), 1000, 112);
}

TEST(Dropout, DropsTheStatedShare) {
  int dropped = 0;
  for (std::int64_t e = 0; e < 10000; ++e) dropped += dropout_keeps({1, 2, 3}, e / 50, e % 50, 0.3) ? 0 : 1;
  EXPECT_NEAR(dropped, 3000, 230);  // five standard deviations
}

}  // namespace
}  // namespace lanista::kernels
