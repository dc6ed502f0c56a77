#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

std::vector<ResizeShape> resize_shapes() {
  Rng rng(91);
  std::vector<ResizeShape> all{{1, 4, 4, 3, 4, 4}, {1, 1, 1, 2, 5, 3}, {2, 6, 9, 1, 1, 1}};
  while (all.size() < 40) {
    all.push_back({rng.between(1, 2), rng.between(1, 9), rng.between(1, 9), rng.between(1, 18), rng.between(1, 14),
                   rng.between(1, 14)});
  }
  return all;
}

/// f(output element, input element, weight): rows and columns of the four cells ascending, outputs ascending. The cells
/// around (o + 1/2) len / outputs - 1/2, not below zero.
template <class T, class F>
void for_corners(const ResizeShape& s, F f) {
  const auto cells = [](std::int64_t o, std::int64_t outputs, std::int64_t len) {
    const std::int64_t halves = std::max<std::int64_t>(0, (2 * o + 1) * len - outputs);
    const std::int64_t low = halves / (2 * outputs);
    const T part = static_cast<T>(halves - low * 2 * outputs) / static_cast<T>(2 * outputs);
    return std::vector<std::pair<std::int64_t, T>>{{low, T(1) - part}, {std::min(low + 1, len - 1), part}};
  };
  std::int64_t output = 0;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t oh = 0; oh < s.oh; ++oh)
      for (std::int64_t ow = 0; ow < s.ow; ++ow)
        for (std::int64_t c = 0; c < s.c; ++c, ++output)
          for (const auto& [h, row_weight] : cells(oh, s.oh, s.h))
            for (const auto& [w, column_weight] : cells(ow, s.ow, s.w))
              f(index(output), index(((n * s.h + h) * s.w + w) * s.c + c), row_weight * column_weight);
}

TEST(Resize, BilinearTakesTheFourCellsInTheirOrder) {
  for_every_case(92, resize_shapes(), []<class T>(T, Isa isa, const auto& family, Rng& rng, const ResizeShape& s) {
    const auto define = [&](const auto& x, const auto& dy, auto& want, auto& want_dx) {
      for_corners<T>(s, [&](auto o, auto i, T weight) {
        want[o] = term(isa, weight, x[i], want[o]);
        want_dx[i] = term(isa, weight, dy[o], want_dx[i]);
      });
    };
    expect_images<T>(rng, s, family.resize_bilinear, family.resize_bilinear_grad, define);
  });
}

TEST(Resize, NearestCopiesOneCellAndSumsItsGradients) {
  for_every_case(93, resize_shapes(), []<class T>(T, Isa, const auto& family, Rng& rng, const ResizeShape& s) {
    const auto define = [&](const auto& x, const auto& dy, auto& want, auto& want_dx) {
      for (std::int64_t o = 0; o < std::ssize(want); ++o) {
        const std::int64_t c = o % s.c, ow = o / s.c % s.ow, oh = o / (s.c * s.ow) % s.oh, n = o / (s.c * s.ow * s.oh);
        const std::size_t i = index(((n * s.h + oh * s.h / s.oh) * s.w + ow * s.w / s.ow) * s.c + c);
        want[index(o)] = x[i];
        want_dx[i] += dy[index(o)];
      }
    };
    expect_images<T>(rng, s, family.resize_nearest, family.resize_nearest_grad, define);
  });
}

TEST(Resize, KeepsAnImageOfTheSameSize) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(94);
    const ResizeShape s{2, 5, 7, 3, 5, 7};
    const auto x = random_values<T>(rng, 2 * 5 * 7 * 3);
    Guarded<T> y(2 * 5 * 7 * 3), z(2 * 5 * 7 * 3);
    family.resize_bilinear(s, x.data(), y.data());
    family.resize_nearest(s, x.data(), z.data());
    EXPECT_TRUE(same_bytes(x, y));
    EXPECT_TRUE(same_bytes(x, z));
  });
}

TEST(Resize, MatchesKnownValuesForTwoToFourCells) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const ResizeShape s{1, 1, 2, 1, 1, 4};
    const std::vector<T> x{T(0), T(4)};
    std::vector<T> y(4);
    family.resize_bilinear(s, x.data(), y.data());
    EXPECT_EQ(y, (std::vector<T>{0, 1, 3, 4}));
    family.resize_nearest(s, x.data(), y.data());
    EXPECT_EQ(y, (std::vector<T>{0, 0, 4, 4}));
  });
}

}  // namespace
}  // namespace lanista::kernels
