#include "support/exec/kernels/test_support.h"

namespace lanista::kernels {
namespace {

std::int64_t positions(std::int64_t len, std::int64_t window, std::int64_t stride, std::int64_t pad,
                       std::int64_t dilation) {
  return (len + 2 * pad - dilation * (window - 1) - 1) / stride + 1;
}

ConvShape finished(ConvShape s) {
  s.oh = positions(s.h, s.kh, s.stride_h, s.pad_h, s.dilation_h);
  s.ow = positions(s.w, s.kw, s.stride_w, s.pad_w, s.dilation_w);
  return s;
}

ConvShape same_conv(std::int64_t n, std::int64_t size, std::int64_t ci, std::int64_t co, std::int64_t window) {
  return finished({n, size, size, ci, 0, 0, co, window, window, 1, 1, window / 2, window / 2, 1, 1, 1});
}

/// Shapes that models use, and random ones with every combination of stride, padding, dilation and groups.
std::vector<ConvShape> conv_shapes() {
  std::vector<ConvShape> all{same_conv(5, 8, 1, 16, 3),  same_conv(3, 8, 16, 16, 3), same_conv(2, 4, 16, 32, 3),
                             same_conv(2, 8, 16, 16, 1), same_conv(1, 1, 3, 5, 3),   same_conv(1, 5, 2, 3, 7),
                             same_conv(9, 6, 3, 10, 5),  same_conv(2, 17, 16, 20, 3)};
  ConvShape strided = same_conv(2, 8, 16, 24, 1);
  strided.stride_h = strided.stride_w = 2;
  all.push_back(finished(strided));
  ConvShape empty_border = same_conv(2, 3, 2, 4, 1);  // some outputs see padding only
  empty_border.pad_h = empty_border.pad_w = 2;
  all.push_back(finished(empty_border));
  ConvShape uneven = same_conv(2, 5, 2, 4, 1);  // padding on the right and below alone
  uneven.oh = 6;
  uneven.ow = 7;
  all.push_back(uneven);
  uneven = same_conv(3, 6, 3, 8, 3);
  uneven.pad_h = 0;  // one row fewer
  uneven.oh = 5;
  uneven.ow = 7;
  all.push_back(uneven);
  Rng rng(21);
  while (all.size() < 72) {
    const std::int64_t groups = rng.bernoulli(0.4) ? rng.between(2, 19) : 1;
    const bool depthwise = rng.bernoulli(0.5);
    const std::int64_t ci = groups * (depthwise || groups > 4 ? 1 : rng.between(1, 9));
    const std::int64_t co = depthwise && groups > 1 ? groups : groups * rng.between(1, groups > 4 ? 3 : 20);
    const bool many = all.size() % 6 == 0;  // samples, of small images
    ConvShape s{many ? rng.between(10, 130) : rng.between(1, 9),
                rng.between(1, many ? 4 : 11),
                rng.between(1, many ? 4 : 11),
                ci,
                0,
                0,
                co,
                rng.between(1, 5),
                rng.between(1, 5),
                rng.between(1, 3),
                rng.between(1, 3),
                rng.between(0, 3),
                rng.between(0, 3),
                rng.between(1, 3),
                rng.between(1, 3),
                groups};
    s = finished(s);
    const bool fits = s.h + 2 * s.pad_h > s.dilation_h * (s.kh - 1) && s.w + 2 * s.pad_w > s.dilation_w * (s.kw - 1);
    if (fits) all.push_back(s);
  }
  return all;
}

std::string text(const ConvShape& s) {
  std::string out;
  for (const std::int64_t v : {s.n, s.h, s.w, s.ci, s.oh, s.ow, s.co, s.kh, s.kw, s.stride_h, s.stride_w, s.pad_h,
                               s.pad_w, s.dilation_h, s.dilation_w, s.groups}) {
    out += std::to_string(v) + " ";
  }
  return out;
}

/// Calls f(x offset, w offset, y offset) for the product of input channel `i` of a group and output channel `o`, unless
/// the tap is outside the image.
template <class F>
void term_at(const ConvShape& s, std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw,
             std::int64_t i, std::int64_t o, F f) {
  const std::int64_t ci = s.ci / s.groups, co = s.co / s.groups;
  const std::int64_t h = oh * s.stride_h - s.pad_h + kh * s.dilation_h;
  const std::int64_t w = ow * s.stride_w - s.pad_w + kw * s.dilation_w;
  if (h < 0 || h >= s.h || w < 0 || w >= s.w) return;
  f(((n * s.h + h) * s.w + w) * s.ci + o / co * ci + i, ((kh * s.kw + kw) * ci + i) * s.co + o,
    ((n * s.oh + oh) * s.ow + ow) * s.co + o);
}

/// Calls f for every product of a convolution in the order n, oh, ow, kh, kw, ci, co.
template <class F>
void for_terms(const ConvShape& s, F f) {
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t oh = 0; oh < s.oh; ++oh)
      for (std::int64_t ow = 0; ow < s.ow; ++ow)
        for (std::int64_t kh = 0; kh < s.kh; ++kh)
          for (std::int64_t kw = 0; kw < s.kw; ++kw)
            for (std::int64_t i = 0; i < s.ci / s.groups; ++i)
              for (std::int64_t o = 0; o < s.co; ++o) term_at(s, n, oh, ow, kh, kw, i, o, f);
}

/// The same products for the data gradient: per input element ascending kh, kw, co.
template <class F>
void for_data_terms(const ConvShape& s, F f) {
  for (std::int64_t kh = 0; kh < s.kh; ++kh)
    for (std::int64_t kw = 0; kw < s.kw; ++kw)
      for (std::int64_t n = 0; n < s.n; ++n)
        for (std::int64_t oh = 0; oh < s.oh; ++oh)
          for (std::int64_t ow = 0; ow < s.ow; ++ow)
            for (std::int64_t o = 0; o < s.co; ++o)
              for (std::int64_t i = 0; i < s.ci / s.groups; ++i) term_at(s, n, oh, ow, kh, kw, i, o, f);
}

TEST(Conv2d, EqualsItsScalarDefinitionToTheBit) {
  for_every_case(4, conv_shapes(), []<class T>(T, Isa isa, const auto& family, Rng& rng, const ConvShape& s) {
    SCOPED_TRACE(text(s));
    const auto x = random_values<T>(rng, s.n * s.h * s.w * s.ci);
    const auto w = random_values<T>(rng, s.kh * s.kw * s.ci / s.groups * s.co), bias = random_values<T>(rng, s.co);
    std::vector<T> want(index(s.n * s.oh * s.ow * s.co));
    for_terms(s, [&](auto xi, auto wi, auto yi) {
      want[index(yi)] = term(isa, x[index(xi)], w[index(wi)], want[index(yi)]);
    });

    const std::int64_t outputs = s.n * s.oh * s.ow * s.co;
    Guarded<T> plain(outputs), y(outputs), relu(outputs), scratch(family.conv2d_scratch(s));
    family.conv2d(s, x.data(), w.data(), nullptr, plain.data(), scratch.data());
    family.conv2d(s, x.data(), w.data(), bias.data(), y.data(), scratch.data());
    family.conv2d_relu(s, x.data(), w.data(), bias.data(), relu.data(), scratch.data());

    EXPECT_TRUE(same_bytes(want, plain));
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += bias[i % bias.size()];
    EXPECT_TRUE(same_bytes(want, y));
    for (T& value : want) value = value > 0 ? value : T(0);
    EXPECT_TRUE(same_bytes(want, relu));
    EXPECT_TRUE(scratch.margins_are_intact());
  });
}

TEST(Conv2d, DataGradientAddsTapsAndThenOutputChannelsInAscendingOrder) {
  for_every_case(5, conv_shapes(), []<class T>(T, Isa isa, const auto& family, Rng& rng, const ConvShape& s) {
    SCOPED_TRACE(text(s));
    const auto dy = random_values<T>(rng, s.n * s.oh * s.ow * s.co);
    const auto w = random_values<T>(rng, s.kh * s.kw * s.ci / s.groups * s.co);
    std::vector<T> want(index(s.n * s.h * s.w * s.ci));
    for_data_terms(s, [&](auto xi, auto wi, auto yi) {
      want[index(xi)] = term(isa, dy[index(yi)], w[index(wi)], want[index(xi)]);
    });

    Guarded<T> dx(s.n * s.h * s.w * s.ci), scratch(family.conv2d_scratch(s));
    family.conv2d_grad_x(s, dy.data(), w.data(), dx.data(), scratch.data());

    EXPECT_TRUE(same_bytes(want, dx));
    EXPECT_TRUE(scratch.margins_are_intact());
  });
}

TEST(Conv2d, WeightGradientAddsSamplesAndPositionsInAscendingOrder) {
  for_every_case(6, conv_shapes(), []<class T>(T, Isa isa, const auto& family, Rng& rng, const ConvShape& s) {
    SCOPED_TRACE(text(s));
    const auto x = random_values<T>(rng, s.n * s.h * s.w * s.ci), dy = random_values<T>(rng, s.n * s.oh * s.ow * s.co);
    std::vector<T> want(index(s.kh * s.kw * s.ci / s.groups * s.co));
    for_terms(s, [&](auto xi, auto wi, auto yi) {
      want[index(wi)] = term(isa, x[index(xi)], dy[index(yi)], want[index(wi)]);
    });

    Guarded<T> dw(s.kh * s.kw * s.ci / s.groups * s.co), scratch(family.conv2d_scratch(s));
    family.conv2d_grad_w(s, x.data(), dy.data(), dw.data(), scratch.data());

    EXPECT_TRUE(same_bytes(want, dw));
    EXPECT_TRUE(scratch.margins_are_intact());
  });
}

TEST(Conv2d, GivesASampleTheSameBytesAloneAndInABatch) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    Rng rng(7);
    const ConvShape batch = same_conv(13, 7, 5, 11, 3), one = same_conv(1, 7, 5, 11, 3);
    const auto x = random_values<T>(rng, batch.n * 49 * 5), w = random_values<T>(rng, 9 * 5 * 11);
    Guarded<T> all(batch.n * 49 * 11), alone(49 * 11);
    family.conv2d(batch, x.data(), w.data(), nullptr, all.data(), nullptr);
    for (std::int64_t n = 0; n < batch.n; ++n) {
      family.conv2d(one, x.data() + n * 49 * 5, w.data(), nullptr, alone.data(), nullptr);
      EXPECT_EQ(0, std::memcmp(all.data() + n * 49 * 11, alone.data(), sizeof(T) * 49 * 11));
    }
  });
}

TEST(Conv2d, SkipsBorderTapsInsteadOfMultiplyingThemByZero) {
  for_every_family([](auto zero, Isa, const auto& family) {
    using T = decltype(zero);
    const ConvShape s = same_conv(1, 1, 1, 1, 3);
    const T infinite = std::numeric_limits<T>::infinity();
    std::vector<T> w(9, infinite);
    w[4] = T(2);
    const T x = T(3);
    T y = 0;
    family.conv2d(s, &x, w.data(), nullptr, &y, nullptr);
    EXPECT_EQ(y, T(6));
  });
}

}  // namespace
}  // namespace lanista::kernels
