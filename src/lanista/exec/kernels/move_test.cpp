#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

TEST(Permute, ReadsEveryElementAtItsStrides) {
  for_every_case(61, std::views::iota(0, 60), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::uint32_t rank = static_cast<std::uint32_t>(rng.between(0, 8));
    std::vector<std::int64_t> x_sizes, sizes, strides;
    for (std::uint32_t a = 0; a < rank; ++a) x_sizes.push_back(rng.between(1, rank > 5 ? 3 : 6));
    std::vector<std::int64_t> dense(rank, 1);
    for (std::size_t a = rank; a-- > 1;) dense[a - 1] = dense[a] * x_sizes[a];
    for (const std::uint32_t a : rng.permutation(rank)) {
      sizes.push_back(x_sizes[a]);
      strides.push_back(dense[a]);
    }
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    const auto x = random_values<T>(rng, count);
    std::vector<T> want;
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t rest = k, from = 0;
      for (std::size_t a = sizes.size(); a-- > 0; rest /= sizes[a]) from += rest % sizes[a] * strides[a];
      want.push_back(x[index(from)]);
    }
    Guarded<T> y(count);
    family.permute(sizes, strides, x.data(), y.data());
    EXPECT_TRUE(same_bytes(want, y));
  });
}

TEST(Permute, BroadcastsAlongZeroStrides) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const std::vector<std::int64_t> sizes{2, 3}, strides{0, 1};
    const std::vector<T> x{1, 2, 3};
    std::vector<T> y(6);
    family.permute(sizes, strides, x.data(), y.data());
    EXPECT_EQ(y, (std::vector<T>{1, 2, 3, 1, 2, 3}));
  });
}

TEST(Slice, PastesBackWhatItCopied) {
  for_every_case(62, std::views::iota(0, 30), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const AxisShape s{rng.between(1, 4), rng.between(1, 9), rng.between(1, 7)};
    const std::int64_t begin = rng.between(0, s.len - 1), len = rng.between(1, s.len - begin);
    const auto x = random_values<T>(rng, s.outer * s.len * s.inner);
    std::vector<T> want, pasted(x.size(), static_cast<T>(-77));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) / s.inner % s.len;
      if (at < begin || at >= begin + len) continue;
      want.push_back(x[k]);
      pasted[k] = x[k];
    }
    Guarded<T> part(s.outer * len * s.inner), whole(s.outer * s.len * s.inner);
    family.copy_slice(s, begin, len, x.data(), part.data());
    family.paste_slice(s, begin, len, part.data(), whole.data());
    EXPECT_TRUE(same_bytes(want, part));
    EXPECT_TRUE(same_bytes(pasted, whole));
  });
}

TEST(PadImage, SurroundsWithZerosAndIsUndoneByCrop) {
  for_every_case(63, std::views::iota(0, 30), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const std::int64_t n = rng.between(1, 3), h = rng.between(1, 5), w = rng.between(1, 5), c = rng.between(1, 9);
    const std::int64_t top = rng.between(0, 2), bottom = rng.between(0, 2), left = rng.between(0, 2);
    const std::int64_t right = rng.between(0, 2), ph = h + top + bottom, pw = w + left + right;
    const auto x = random_values<T>(rng, n * h * w * c);
    std::vector<T> want;
    for (std::int64_t k = 0; k < n * ph * pw * c; ++k) {
      const std::int64_t pc = k % c, col = k / c % pw - left, row = k / (c * pw) % ph - top, sample = k / (c * pw * ph);
      const bool inside = row >= 0 && row < h && col >= 0 && col < w;
      want.push_back(inside ? x[index(((sample * h + row) * w + col) * c + pc)] : T(0));
    }
    Guarded<T> padded(n * ph * pw * c), back(n * h * w * c);
    family.pad_image(n, h, w, c, top, bottom, left, right, x.data(), padded.data());
    family.crop_image(n, ph, pw, c, top, bottom, left, right, padded.data(), back.data());
    EXPECT_TRUE(same_bytes(want, padded));
    EXPECT_TRUE(same_bytes(x, back));
  });
}

}  // namespace
}  // namespace lanista::kernels
