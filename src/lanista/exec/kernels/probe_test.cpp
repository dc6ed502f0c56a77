#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

TEST(FmaChain, ComputesEveryCountedTerm) {
  for_every_family([](auto zero, Isa isa, const auto& family) {
    using T = decltype(zero);
    for (const std::int64_t rounds : {0, 1, 7, 40}) {
      std::vector<T> want;
      for (int c = 0; c < kProbeChains; ++c) {
        T x = static_cast<T>(c);
        for (std::int64_t r = 0; r < rounds; ++r) x = term(isa, x, T(0.5), T(1));
        want.push_back(x);
      }
      Guarded<T> out(kProbeChains);
      const std::int64_t operations = family.fma_chain(rounds, out.data());
      EXPECT_TRUE(same_bytes(want, out)) << rounds;
      // Whole vectors of every chain, a multiplication and an addition each.
      EXPECT_EQ(operations % (2 * kProbeChains * std::max<std::int64_t>(rounds, 1)), 0);
      EXPECT_EQ(operations > 0, rounds > 0);
      EXPECT_EQ(operations, rounds * family.fma_chain(1, out.data()));
    }
  });
}

TEST(ReadSum, ReadsEveryElementInEveryRoundAndNoneBeyond) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    for (std::int64_t count = 0; count < 300; ++count) {
      // Integers, so that the sum is exact in any order. A read beyond the end would add a NaN.
      std::vector<T> x(static_cast<std::size_t>(count + 64), std::numeric_limits<T>::quiet_NaN());
      for (std::int64_t i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = static_cast<T>(i + 1);
      const std::int64_t rounds = count % 4;
      EXPECT_EQ(family.read_sum(rounds, count, x.data()), static_cast<T>(rounds * count * (count + 1) / 2)) << count;
    }
  });
}

}  // namespace
}  // namespace lanista::kernels
