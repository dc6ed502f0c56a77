// Row kernels against sums in double that the test computes.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lanista/exec/backends/aten/aten_fusion.h"
#include "lanista/exec/backends/aten/lane_rows.h"
#include "support/exec/backends/aten/kernel_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

class LaneRowsTest : public LaneKernelTest {};

// A call for entries that do not read it.
struct Nothing {
  graph::OpDef def;
  graph::Attrs attrs;
  std::vector<graph::ValueType> types;
  mutable std::vector<program::LaneAttr> numbers;
  const AtenCall call{.args = {types, attrs, def}, .out = types, .id = {}, .lane_attrs = numbers};
};

struct RandomRows {
  LaneRows of;
  at::Tensor dy, other;
  std::int64_t lanes, rows, len, each;  // consecutive rows that share a row of dy
};

// Random rows of several thread counts, from one to several blocks. Some are too long for registers.
RandomRows random_rows(Rng& rng, at::TensorOptions like) {
  const std::int64_t most =
      std::vector<std::int64_t>{12, 64, 128, 256, 300}[static_cast<std::size_t>(rng.between(0, 4))];
  const std::int64_t len = rng.between(0, 1) == 0 ? 4 * rng.between(1, most / 4) : rng.between(1, most);
  const std::int64_t each = rng.between(0, 2) == 0 ? rng.between(2, 9) : 1, lanes = rng.between(1, 4),
                     of_dy = rng.between(1, (rng.between(0, 1) == 0 ? 20 : 300) / each), rows = each * of_dy;
  RandomRows all{{}, random_dense(rng, {lanes, of_dy, len}, like), {}, lanes, rows, len, each};
  if (rng.between(0, 1) == 0) all.other = random_dense(rng, {lanes, rows, len}, like);
  all.of = {.x = random_dense(rng, {lanes, rows, len}, like),
            .mean = random_dense(rng, {lanes, rows}, like),
            .inverse = random_dense(rng, {lanes, rows}, like).abs()};
  if (rng.between(0, 2) > 0) all.of.weight = random_strided_lanes(rng, {lanes, len}, like);
  return all;
}

struct ExpectedRows {
  std::vector<double> x, weight, bias;
  double most = 1;  // largest sum of absolute terms
};

ExpectedRows wanted(const RandomRows& of) {
  const auto x = numbers(of.of.x), mean = numbers(of.of.mean), inverse = numbers(of.of.inverse), few = numbers(of.dy);
  const auto weight = of.of.weight.defined() ? numbers(of.of.weight) : std::vector<double>{};
  const auto lanes = static_cast<std::size_t>(of.lanes), rows = static_cast<std::size_t>(of.rows),
             len = static_cast<std::size_t>(of.len);
  const auto other = of.other.defined() ? numbers(of.other) : std::vector<double>{};
  const auto dy = [&](std::size_t row, std::size_t k) {
    return few[row / static_cast<std::size_t>(of.each) * len + k];
  };
  ExpectedRows all{std::vector<double>(lanes * rows * len), std::vector<double>(lanes * len),
                   std::vector<double>(lanes * len)};
  std::vector<double> sizes(lanes * len);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t row = lane * rows; row < (lane + 1) * rows; ++row) {
      const auto hat = [&](std::size_t k) { return (x[row * len + k] - mean[row]) * inverse[row]; };
      const auto back = [&](std::size_t k) { return dy(row, k) * (weight.empty() ? 1 : weight[lane * len + k]); };
      double sum = 0, dot = 0, size = 1;
      for (std::size_t k = 0; k < len; ++k) {
        sum += back(k);
        dot += back(k) * hat(k);
        size += std::fabs(back(k)) * (1 + std::fabs(hat(k)));
        all.weight[lane * len + k] += dy(row, k) * hat(k);
        all.bias[lane * len + k] += dy(row, k);
        sizes[lane * len + k] += std::fabs(dy(row, k)) * (1 + std::fabs(hat(k)));
      }
      for (std::size_t k = 0; k < len; ++k) {
        const double n = static_cast<double>(len);
        all.x[row * len + k] = inverse[row] * (back(k) - sum / n - hat(k) * dot / n);
        if (!other.empty()) all.x[row * len + k] += other[row * len + k];
        all.most = std::max(all.most, inverse[row] * (1 + std::fabs(hat(k))) * size);
      }
    }
  }
  for (const double size : sizes) all.most = std::max(all.most, size);
  return all;
}

TEST_P(LaneRowsTest, MatchTheGradientInDoubles) {
  const c10::InferenceMode no_gradients;
  Rng rng(61);
  for (int round = 0; round < 200; ++round) {
    const bool doubles = rng.between(0, 2) == 0;
    const RandomRows rows = random_rows(rng, options(doubles));
    const ExpectedRows want = wanted(rows);
    const double most = want.most * (doubles ? 1e-15 : 5e-7);
    const LaneRowsGrad grad = lane_rows_grad(*device().kernels(), rows.of, rows.dy, rows.other);
    EXPECT_LE(distance(grad.x, want.x), most) << "round " << round << ", len " << rows.len;
    EXPECT_LE(distance(grad.weight, want.weight), most) << "round " << round << ", len " << rows.len;
    EXPECT_LE(distance(grad.bias, want.bias), most) << "round " << round << ", len " << rows.len;
    // A single lane gives the same bits.
    const std::int64_t last = rows.lanes - 1;
    const auto alone = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, last, 1) : x; };
    const LaneRows one{alone(rows.of.x), alone(rows.of.mean), alone(rows.of.inverse), alone(rows.of.weight)};
    const LaneRowsGrad own = lane_rows_grad(*device().kernels(), one, alone(rows.dy), alone(rows.other));
    EXPECT_TRUE(own.x.equal(alone(grad.x))) << "round " << round;
    EXPECT_TRUE(own.weight.equal(alone(grad.weight)) && own.bias.equal(alone(grad.bias))) << "round " << round;
  }
}

// NaN in the last rows of a lane and in its columns.
TEST_P(LaneRowsTest, KeepNanInItsLane) {
  const c10::InferenceMode no_gradients;
  Rng rng(62);
  for (int round = 0; round < 40; ++round) {
    RandomRows rows = random_rows(rng, options(false));
    const LaneRowsGrad before = lane_rows_grad(*device().kernels(), rows.of, rows.dy, rows.other);
    const std::int64_t lane = rng.between(0, rows.lanes - 1);
    rows.of.x.select(0, lane).fill_(NAN);
    const LaneRowsGrad grad = lane_rows_grad(*device().kernels(), rows.of, rows.dy, rows.other);
    for (std::int64_t other = 0; other < rows.lanes; ++other) {
      EXPECT_EQ(grad.x.select(0, other).isnan().all().item<bool>(), other == lane) << "round " << round;
      EXPECT_EQ(grad.weight.select(0, other).isnan().all().item<bool>(), other == lane) << "round " << round;
      if (other == lane) continue;
      EXPECT_TRUE(grad.x.select(0, other).equal(before.x.select(0, other))) << "round " << round;
    }
  }
}

TEST_P(LaneRowsTest, MatchTheMeanOfNormalisedRows) {
  const c10::InferenceMode no_gradients;
  Rng rng(64);
  for (int round = 0; round < 120; ++round) {
    const bool doubles = rng.between(0, 2) == 0;
    const at::TensorOptions like = options(doubles);
    const std::int64_t longest =
        std::vector<std::int64_t>{12, 64, 128, 256}[static_cast<std::size_t>(rng.between(0, 3))];
    const std::int64_t len = rng.between(0, 1) == 0 ? 4 * rng.between(1, longest / 4) : rng.between(1, longest);
    const std::int64_t lanes = rng.between(1, 4), samples = rng.between(1, 5), rows = rng.between(1, 40);
    const at::Tensor x = random_dense(rng, {lanes, samples, rows, len}, like);
    const bool weighed = rng.between(0, 2) > 0;
    // Weight and bias are parts of one state.
    const at::Tensor both = random_strided_lanes(rng, {lanes, 2, len}, like);
    const at::Tensor weight = weighed ? both.select(1, 0) : at::Tensor(),
                     bias = weighed ? both.select(1, 1) : at::Tensor();
    const auto v = numbers(x), w = numbers(both);
    const auto n = static_cast<std::size_t>(len), each = static_cast<std::size_t>(rows);
    std::vector<double> means, inverses, y;
    for (std::size_t sample = 0; sample < static_cast<std::size_t>(lanes * samples); ++sample) {
      std::vector<double> sum(n);
      for (std::size_t row = sample * each; row < (sample + 1) * each; ++row) {
        double mean = 0, square = 0;
        for (std::size_t k = 0; k < n; ++k) mean += v[row * n + k] / static_cast<double>(n);
        for (std::size_t k = 0; k < n; ++k) square += std::pow(v[row * n + k] - mean, 2) / static_cast<double>(n);
        means.push_back(mean);
        inverses.push_back(1 / std::sqrt(square + 0.01));
        for (std::size_t k = 0; k < n; ++k) sum[k] += (v[row * n + k] - mean) * inverses.back();
      }
      const double* own = &w[sample / static_cast<std::size_t>(samples) * 2 * n];
      for (std::size_t k = 0; k < n; ++k) {
        const double mean = sum[k] / static_cast<double>(rows);
        y.push_back(weighed ? mean * own[k] + own[n + k] : mean);
      }
    }
    const LaneRowsMean made = lane_rows_mean(*device().kernels(), x, weight, bias, 0.01);
    const double most = doubles ? 1e-13 : 2e-5;
    EXPECT_LE(distance(made.mean, means), most) << "round " << round << ", len " << len;
    EXPECT_LE(distance(made.inverse, inverses), most) << "round " << round << ", len " << len;
    EXPECT_LE(distance(made.y, y), most) << "round " << round << ", len " << len;
    const auto alone = [&](const at::Tensor& of) { return of.defined() ? of.narrow(0, lanes - 1, 1) : of; };
    const LaneRowsMean one = lane_rows_mean(*device().kernels(), alone(x), alone(weight), alone(bias), 0.01);
    EXPECT_TRUE(one.y.equal(alone(made.y)) && one.inverse.equal(alone(made.inverse))) << "round " << round;
  }
}

// Some tokens are not in the table.
TEST_P(LaneRowsTest, MatchEmbeddingPlusPosition) {
  const c10::InferenceMode no_gradients;
  Rng rng(63);
  const LaneKernels& kernels = *device().kernels();
  const AtenFusions fusions = aten_fusions(&kernels, Precision::kFloat32);
  const AtenTable table = aten_table(&kernels);
  for (int round = 0; round < 100; ++round) {
    const at::TensorOptions like = options(rng.between(0, 2) == 0);
    const std::int64_t lanes = rng.between(1, 4), batch = rng.between(1, 9), positions = rng.between(1, 9),
                       vocab = rng.between(1, 12),
                       dim = rng.between(0, 1) == 0 ? 4 * rng.between(1, 9) : rng.between(1, 30);
    at::Tensor tokens = at::empty({lanes, batch, positions}, at::TensorOptions(at::kLong));
    for (std::int64_t i = 0; i < tokens.numel(); ++i) tokens.data_ptr<std::int64_t>()[i] = rng.between(-1, vocab);
    const at::Tensor rows = random_strided_lanes(rng, {lanes, vocab, dim}, like),
                     own = random_strided_lanes(rng, {lanes, positions, dim}, like);
    const auto of = numbers(tokens), t = numbers(rows), p = numbers(own);
    std::vector<double> read, all;
    for (std::int64_t i = 0; i < lanes * batch * positions * dim; ++i) {
      const std::int64_t at = i / dim, lane = at / positions / batch;
      const auto token = static_cast<std::int64_t>(of[static_cast<std::size_t>(at)]);
      const bool is = token >= 0 && token < vocab;
      read.push_back(is ? t[static_cast<std::size_t>((lane * vocab + token) * dim + i % dim)] : 0);
      all.push_back(read.back() + p[static_cast<std::size_t>((lane * positions + at % positions) * dim + i % dim)]);
    }
    const Frame frame{.lanes = lanes, .batch = batch};
    const double most = like.dtype() == at::kDouble ? 0 : 1e-6;
    const at::Tensor up = tokens.to(like.device());
    const Tensors joined = fusions.at({"embedding", "positional_embedding"}).prepare({})(frame, {up, rows, own});
    EXPECT_LE(distance(joined[0], all), most) << "round " << round << ", dim " << dim;
    const Nothing none;
    const Tensors first = table.at("embedding")(none.call)(frame, {up, rows});
    EXPECT_EQ(distance(first[0], read), 0) << "round " << round;
    const Tensors second = table.at("positional_embedding")(none.call)(frame, {first[0], own});
    EXPECT_TRUE(second[0].equal(joined[0])) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, LaneRowsTest, kKernelDevices, kernel_device_name);

}  // namespace
}  // namespace lanista::device
