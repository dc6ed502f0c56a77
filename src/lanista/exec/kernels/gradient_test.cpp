#include <functional>

#include "support/exec/kernels/test_support.h"

// Every gradient kernel against central differences of its forward kernel, in double. The scalar that is
// differentiated is a random weighting of the outputs.
namespace lanista::kernels {
namespace {

using Doubles = std::vector<double>;
using Forward = std::function<Doubles(const Doubles&)>;

std::int64_t length(const Doubles& v) { return static_cast<std::int64_t>(v.size()); }

double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void expect_gradient(const Forward& forward, const Doubles& at, const Doubles& dy, const Doubles& gradient) {
  ASSERT_EQ(at.size(), gradient.size());
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < at.size(); ++i) {
    Doubles up = at, down = at;
    up[i] += kStep;
    down[i] -= kStep;
    const double slope = (dot(forward(up), dy) - dot(forward(down), dy)) / (2 * kStep);
    ASSERT_NEAR(slope, gradient[i], 1e-7 * std::max(1.0, std::abs(slope))) << "element " << i;
  }
}

/// Runs `body(kernels, rng)` for double at every level.
template <class Body>
void for_every_level(Body body) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(std::string(isa_name(isa)));
    Rng rng(101);
    body(kernels<double>(isa), rng);
  }
}

TEST(Gradient, OfLinear) {
  for_every_level([](const Kernels<double>& k, Rng& rng) {
    const Doubles x = random_values<double>(rng, 5 * 7), w = random_values<double>(rng, 7 * 9);
    const Doubles b = random_values<double>(rng, 9), dy = random_values<double>(rng, 5 * 9);
    const auto run = [&](const Doubles& x1, const Doubles& w1, const Doubles& b1) {
      Doubles y(dy.size());
      k.linear(5, 7, 9, x1.data(), w1.data(), b1.data(), y.data());
      return y;
    };
    Doubles dx(x.size()), dw(w.size()), db(b.size());
    k.linear_grad_x(5, 7, 9, dy.data(), w.data(), dx.data());
    k.linear_grad_w(5, 7, 9, x.data(), dy.data(), dw.data());
    k.column_sum(5, 9, dy.data(), db.data());
    expect_gradient([&](const Doubles& v) { return run(v, w, b); }, x, dy, dx);
    expect_gradient([&](const Doubles& v) { return run(x, v, b); }, w, dy, dw);
    expect_gradient([&](const Doubles& v) { return run(x, w, v); }, b, dy, db);
  });
}

TEST(Gradient, OfConvolutionsOfEveryKind) {
  const std::vector<ConvShape> shapes{{2, 5, 4, 2, 5, 4, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1},
                                      {1, 7, 6, 2, 3, 3, 3, 3, 2, 2, 2, 0, 1, 1, 2, 1},
                                      {2, 4, 4, 6, 4, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, 2},
                                      {1, 5, 5, 3, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, 3},
                                      {2, 3, 3, 4, 3, 3, 5, 1, 1, 1, 1, 0, 0, 1, 1, 1}};
  for_every_level([&](const Kernels<double>& k, Rng& rng) {
    for (const ConvShape& s : shapes) {
      const Doubles x = random_values<double>(rng, s.n * s.h * s.w * s.ci);
      const Doubles w = random_values<double>(rng, s.kh * s.kw * s.ci / s.groups * s.co);
      const Doubles dy = random_values<double>(rng, s.n * s.oh * s.ow * s.co);
      Doubles scratch(index(k.conv2d_scratch(s))), dx(x.size()), dw(w.size());
      const auto run = [&](const Doubles& x1, const Doubles& w1) {
        Doubles y(dy.size());
        k.conv2d(s, x1.data(), w1.data(), nullptr, y.data(), scratch.data());
        return y;
      };
      k.conv2d_grad_x(s, dy.data(), w.data(), dx.data(), scratch.data());
      k.conv2d_grad_w(s, x.data(), dy.data(), dw.data(), scratch.data());
      expect_gradient([&](const Doubles& v) { return run(v, w); }, x, dy, dx);
      expect_gradient([&](const Doubles& v) { return run(x, v); }, w, dy, dw);
    }
  });
}

TEST(Gradient, OfActivations) {
  for_every_level([](const Kernels<double>& k, Rng& rng) {
    const Doubles anywhere = random_values<double>(rng, 61, -4, 4), dy = random_values<double>(rng, 61);
    for (const auto& activation : k.activations) {
      SCOPED_TRACE(activation.op);
      const bool above_zero = activation.op == std::string("log") || activation.op == std::string("sqrt");
      const Doubles x = above_zero ? random_values<double>(rng, 61, 0.1, 4) : anywhere;
      const auto run = [&](const Doubles& v) {
        Doubles y(v.size());
        activation.forward(length(v), v.data(), y.data());
        return y;
      };
      Doubles dx = dy;  // in place is allowed
      activation.gradient(61, activation.from_output ? run(x).data() : x.data(), dx.data(), dx.data());
      expect_gradient(run, x, dy, dx);
    }
  });
}

TEST(Gradient, OfSoftmaxAndMeanAlongAxes) {
  for_every_level([](const Kernels<double>& k, Rng& rng) {
    for (const AxisShape& s : {AxisShape{3, 11, 1}, AxisShape{2, 5, 7}}) {
      const std::int64_t count = s.outer * s.len * s.inner;
      const Doubles x = random_values<double>(rng, count, -2, 2), dy = random_values<double>(rng, count);
      const Doubles dmean = random_values<double>(rng, s.outer * s.inner);
      const auto softmax = [&](const Doubles& v) {
        Doubles y(v.size());
        k.softmax(s, v.data(), y.data());
        return y;
      };
      const auto mean = [&](const Doubles& v) {
        Doubles y(dmean.size());
        k.mean_axis(s, v.data(), y.data());
        return y;
      };
      Doubles dx(x.size());
      k.softmax_grad(s, softmax(x).data(), dy.data(), dx.data());
      expect_gradient(softmax, x, dy, dx);
      k.mean_axis_grad(s, dmean.data(), dx.data());
      expect_gradient(mean, x, dmean, dx);
    }
  });
}

TEST(Gradient, OfNormalisations) {
  enum class Kind { kBatch, kLayer, kGroup };
  for_every_level([](const Kernels<double>& k, Rng& rng) {
    for (const Kind kind : {Kind::kBatch, Kind::kLayer, Kind::kGroup}) {
      const std::int64_t n = 3, hw = 5, c = 12, groups = 2, rows = n * hw;
      const Doubles x = random_values<double>(rng, rows * c), dy = random_values<double>(rng, rows * c);
      const Doubles gamma = random_values<double>(rng, c), beta = random_values<double>(rng, c);
      Doubles mean(64), inv(64), rm(index(c)), rv(index(c)), dx(x.size()), dgamma(index(c)), dbeta(index(c));
      const auto run = [&](const Doubles& x1, const Doubles& g, const Doubles& b) {
        Doubles y(x.size());
        if (kind == Kind::kBatch) {
          k.batch_norm_train(rows, c, 1e-2, 0.1, x1.data(), g.data(), b.data(), rm.data(), rv.data(), y.data(),
                             mean.data(), inv.data(), rm.data(), rv.data());
        } else if (kind == Kind::kLayer) {
          k.layer_norm(rows, c, 1e-2, x1.data(), g.data(), b.data(), y.data(), mean.data(), inv.data());
        } else {
          k.group_norm(n, hw, c, groups, 1e-2, x1.data(), g.data(), b.data(), y.data(), mean.data(), inv.data());
        }
        return y;
      };
      run(x, gamma, beta);
      if (kind == Kind::kBatch) {
        k.batch_norm_grad(rows, c, x.data(), gamma.data(), mean.data(), inv.data(), dy.data(), dx.data(), dgamma.data(),
                          dbeta.data());
      } else if (kind == Kind::kLayer) {
        k.layer_norm_grad(rows, c, x.data(), gamma.data(), mean.data(), inv.data(), dy.data(), dx.data(), dgamma.data(),
                          dbeta.data());
      } else {
        k.group_norm_grad(n, hw, c, groups, x.data(), gamma.data(), mean.data(), inv.data(), dy.data(), dx.data(),
                          dgamma.data(), dbeta.data());
      }
      expect_gradient([&](const Doubles& v) { return run(v, gamma, beta); }, x, dy, dx);
      expect_gradient([&](const Doubles& v) { return run(x, v, beta); }, gamma, dy, dgamma);
      expect_gradient([&](const Doubles& v) { return run(x, gamma, v); }, beta, dy, dbeta);
    }
  });
}

TEST(Gradient, OfPools) {
  for_every_level([](const Kernels<double>& k, Rng& rng) {
    const PoolShape s{2, 5, 6, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1, 1, true};
    const Doubles x = random_values<double>(rng, s.n * s.h * s.w * s.c), dy = random_values<double>(rng, 2 * 9 * 3);
    Doubles dx(x.size());
    std::vector<std::uint8_t> where(dy.size());
    const auto run = [&](auto kernel) {
      return [&s, &dy, kernel](const Doubles& v) {
        Doubles y(dy.size());
        kernel(s, v.data(), y.data());
        return y;
      };
    };
    Doubles scratch(9 * 3);
    k.avg_pool_grad(s, dy.data(), dx.data(), scratch.data());
    expect_gradient(run(k.avg_pool), x, dy, dx);
    k.adaptive_avg_pool_grad(s, dy.data(), dx.data());
    expect_gradient(run(k.adaptive_avg_pool), x, dy, dx);
    for (const auto max_pool : {k.max_pool, k.relu_max_pool}) {
      Doubles y(dy.size());
      max_pool(s, x.data(), y.data(), where.data());
      k.max_pool_grad(s, where.data(), dy.data(), dx.data());
      expect_gradient(run([&](const PoolShape& p, const double* a, double* b) { max_pool(p, a, b, nullptr); }), x, dy,
                      dx);
    }
  });
}

TEST(Gradient, OfTheMeanLoss) {
  for_every_level([](const Kernels<double>& k, Rng& rng) {
    const Doubles x = random_values<double>(rng, 6 * 11, -3, 3), goal = random_values<double>(rng, 6 * 11);
    const std::vector<std::int32_t> target{0, 10, 3, 3, 7, 1};
    const Doubles mean(6, 1.0 / 6);
    for (const double smoothing : {0.0, 0.2}) {
      Doubles p(x.size()), dx(x.size());
      const auto loss = [&](const Doubles& v) {
        Doubles l(6);
        k.loss("cross_entropy")->of_classes(6, 11, smoothing, v.data(), target.data(), l.data(), p.data());
        return l;
      };
      loss(x);
      k.loss("cross_entropy")->grad_of_classes(6, 6, 11, smoothing, p.data(), target.data(), dx.data());
      expect_gradient(loss, x, mean, dx);
    }
    Doubles dx(x.size());
    k.loss("mse")->grad_of_values(6, 6, 11, x.data(), goal.data(), dx.data());
    expect_gradient(
        [&](const Doubles& v) {
          Doubles l(6);
          k.loss("mse")->of_values(6, 11, v.data(), goal.data(), l.data());
          return l;
        },
        x, mean, dx);
  });
}

}  // namespace
}  // namespace lanista::kernels
