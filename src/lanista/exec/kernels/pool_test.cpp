#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

/// One to three images up to this size.
PoolShape images(Rng& rng, std::int64_t side, std::int64_t channels) {
  PoolShape s{};
  s.n = rng.between(1, 3);
  s.h = rng.between(1, side);
  s.w = rng.between(1, side);
  s.c = rng.between(1, channels);
  return s;
}

std::vector<PoolShape> pool_shapes() {
  std::vector<PoolShape> all;
  Rng rng(51);
  while (all.size() < 40) {
    PoolShape s = images(rng, 12, 40);
    for (std::int64_t* side : {&s.kh, &s.kw}) *side = rng.between(1, 4);
    for (std::int64_t* stride : {&s.stride_h, &s.stride_w}) *stride = rng.between(1, 3);
    s.count_include_pad = rng.bernoulli(0.5);
    s.pad_h = rng.between(0, s.kh / 2);
    s.pad_w = rng.between(0, s.kw / 2);
    s.pad_bottom = rng.between(0, s.kh / 2);
    s.pad_right = rng.between(0, s.kw / 2);
    if (s.h + s.pad_h + s.pad_bottom < s.kh || s.w + s.pad_w + s.pad_right < s.kw) continue;
    s.oh = (s.h + s.pad_h + s.pad_bottom - s.kh) / s.stride_h + 1;
    s.ow = (s.w + s.pad_w + s.pad_right - s.kw) / s.stride_w + 1;
    all.push_back(s);
  }
  return all;
}

/// f(output offset, input offset, window cell) for every valid cell, outputs and cells ascending.
template <class F>
void for_cells(const PoolShape& s, F f) {
  for (std::int64_t o = 0; o < s.n * s.oh * s.ow; ++o)
    for (std::int64_t c = 0; c < s.c; ++c)
      for (std::int64_t cell = 0; cell < s.kh * s.kw; ++cell) {
        const std::int64_t h = o / s.ow % s.oh * s.stride_h - s.pad_h + cell / s.kw;
        const std::int64_t w = o % s.ow * s.stride_w - s.pad_w + cell % s.kw;
        if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
        f(index(o * s.c + c), index(((o / (s.oh * s.ow) * s.h + h) * s.w + w) * s.c + c), cell);
      }
}

TEST(MaxPool, KeepsTheFirstMaximumAndSendsTheGradientThere) {
  for_every_case(52, pool_shapes(), []<class T>(T, Isa, const auto& family, Rng& rng, const PoolShape& s) {
    // Few distinct values: ties are the point.
    auto x = random_values<T>(rng, s.n * s.h * s.w * s.c, -3, 3);
    for (T& value : x) value = std::round(value);
    const std::int64_t outputs = s.n * s.oh * s.ow * s.c;
    const auto dy = random_values<T>(rng, outputs);
    std::vector<T> want(index(outputs), -std::numeric_limits<T>::infinity()), want_dx(x.size());
    std::vector<std::size_t> from(index(outputs));
    std::vector<int> where(index(outputs));
    for_cells(s, [&](auto o, auto i, auto cell) {
      if (!(x[i] > want[o])) return;
      want[o] = x[i];
      from[o] = i;
      where[o] = static_cast<int>(cell);
    });
    for (std::size_t o = 0; o < from.size(); ++o) want_dx[from[o]] += dy[o];
    Guarded<T> y(outputs), dx(s.n * s.h * s.w * s.c);
    std::vector<std::uint8_t> chosen(index(outputs));

    family.max_pool(s, x.data(), y.data(), chosen.data());
    family.max_pool_grad(s, chosen.data(), dy.data(), dx.data());

    EXPECT_TRUE(same_bytes(want, y));
    EXPECT_TRUE(same_bytes(want_dx, dx));
    for (std::size_t o = 0; o < where.size(); ++o) ASSERT_EQ(where[o], chosen[o]);

    Guarded<T> twice(outputs), relu_dy(outputs), relu_dx(s.n * s.h * s.w * s.c);
    family.relu_max_pool(s, x.data(), y.data(), chosen.data());
    family.max_pool_grad(s, chosen.data(), dy.data(), dx.data());
    auto clipped = x;
    family.activation("relu")->forward(static_cast<std::int64_t>(x.size()), x.data(), clipped.data());
    family.max_pool(s, clipped.data(), twice.data(), nullptr);
    EXPECT_TRUE(same_bytes(twice.inside(), y));
    std::fill(want_dx.begin(), want_dx.end(), T(0));
    for (std::size_t o = 0; o < from.size(); ++o) {
      EXPECT_EQ(chosen[o], want[o] > 0 ? where[o] : 255);
      if (want[o] > 0) want_dx[from[o]] += dy[o];
    }
    EXPECT_TRUE(same_bytes(want_dx, dx));
  });
}

TEST(MaxPool, LetsNanWin) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const PoolShape s{1, 2, 2, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, false};
    const std::vector<T> x{T(1), nan, T(5), T(2)};
    T y = 0;
    std::uint8_t where = 9;
    family.max_pool(s, x.data(), &y, &where);
    EXPECT_TRUE(std::isnan(y));
    EXPECT_EQ(where, 1);
  });
}

TEST(AvgPool, DividesByTheWindowOrByItsValidCells) {
  for_every_case(53, pool_shapes(), []<class T>(T, Isa, const auto& family, Rng& rng, const PoolShape& s) {
    const std::int64_t outputs = s.n * s.oh * s.ow * s.c;
    const auto x = random_values<T>(rng, s.n * s.h * s.w * s.c), dy = random_values<T>(rng, outputs);
    std::vector<T> want(index(outputs)), cells(index(outputs)), want_dx(x.size());
    for_cells(s, [&](auto o, auto i, auto) {
      want[o] += x[i];
      cells[o] += 1;
    });
    for (T& count : cells) count = s.count_include_pad ? static_cast<T>(s.kh * s.kw) : count;
    for (std::size_t o = 0; o < want.size(); ++o) want[o] /= cells[o];
    for_cells(s, [&](auto o, auto i, auto) { want_dx[i] += dy[o] / cells[o]; });
    Guarded<T> y(outputs), dx(s.n * s.h * s.w * s.c), scratch(s.oh * s.ow * s.c);
    family.avg_pool(s, x.data(), y.data());
    family.avg_pool_grad(s, dy.data(), dx.data(), scratch.data());
    EXPECT_TRUE(same_bytes(want, y));
    EXPECT_TRUE(same_bytes(want_dx, dx));
  });
}

TEST(AvgPool, CutsACeilModeWindowAtTheEndOfThePadding) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    PoolShape s{1, 1, 3, 1, 1, 2, 1, 2, 1, 2, 0, 0, 0, 0, true};  // the second window sees one cell
    const std::vector<T> x{T(1), T(3), T(5)};
    std::vector<T> y(2);
    family.avg_pool(s, x.data(), y.data());
    EXPECT_EQ(y, (std::vector<T>{2, 5}));
    s.pad_right = 1;
    family.avg_pool(s, x.data(), y.data());
    EXPECT_EQ(y, (std::vector<T>{2, T(2.5)}));
  });
}

TEST(AdaptiveAvgPool, UsesOverlappingWindowsThatCoverTheImage) {
  for_every_case(54, std::views::iota(0, 40), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    PoolShape s = images(rng, 9, 20);
    for (std::int64_t* side : {&s.oh, &s.ow}) *side = rng.between(1, 7);
    const auto define = [&](const auto& x, const auto& dy, auto& want, auto& want_dx) {
      for (std::int64_t o = 0; o < std::ssize(want); ++o) {
        const std::int64_t c = o % s.c, ow = o / s.c % s.ow, oh = o / (s.c * s.ow) % s.oh, n = o / (s.c * s.ow * s.oh);
        const double end_h = std::ceil(static_cast<double>((oh + 1) * s.h) / static_cast<double>(s.oh));
        const double end_w = std::ceil(static_cast<double>((ow + 1) * s.w) / static_cast<double>(s.ow));
        std::vector<std::size_t> cells;
        for (std::int64_t h = oh * s.h / s.oh; static_cast<double>(h) < end_h; ++h)
          for (std::int64_t w = ow * s.w / s.ow; static_cast<double>(w) < end_w; ++w)
            cells.push_back(index(((n * s.h + h) * s.w + w) * s.c + c));
        for (const std::size_t cell : cells) want[index(o)] += x[cell];
        want[index(o)] /= static_cast<T>(cells.size());
        for (const std::size_t cell : cells) want_dx[cell] += dy[index(o)] / static_cast<T>(cells.size());
      }
    };
    expect_images<T>(rng, s, family.adaptive_avg_pool, family.adaptive_avg_pool_grad, define);
  });
}

TEST(MeanAxis, AveragesAlongTheAxis) {
  for_every_case(55, std::views::iota(0, 40), []<class T>(T, Isa, const auto& family, Rng& rng, int) {
    const AxisShape s{rng.between(1, 5), rng.between(1, 40), rng.bernoulli(0.4) ? 1 : rng.between(2, 19)};
    const auto x = random_values<T>(rng, s.outer * s.len * s.inner), dy = random_values<T>(rng, s.outer * s.inner);
    std::vector<long double> want(dy.size());
    std::vector<T> want_dx;
    for (std::int64_t k = 0; k < s.outer * s.len * s.inner; ++k) {
      const std::size_t o = index(k / (s.len * s.inner) * s.inner + k % s.inner);
      want[o] += static_cast<long double>(x[index(k)]) / s.len;
      want_dx.push_back(dy[o] / static_cast<T>(s.len));
    }
    Guarded<T> y(s.outer * s.inner), dx(s.outer * s.len * s.inner);
    family.mean_axis(s, x.data(), y.data());
    family.mean_axis_grad(s, dy.data(), dx.data());
    EXPECT_TRUE(close(want, y, 10));
    EXPECT_TRUE(same_bytes(want_dx, dx));
  });
}

}  // namespace
}  // namespace lanista::kernels
