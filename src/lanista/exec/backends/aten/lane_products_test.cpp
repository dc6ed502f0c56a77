// Products by tile kernels against sums in double that the test computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "lanista/exec/backends/aten/aten_update.h"
#include "lanista/exec/backends/aten/lane_products.h"
#include "lanista/exec/backends/aten/operand_rounding.h"
#include "support/exec/backends/aten/kernel_test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

// Random matrices [outer, inner, rows, columns]: transposed, with gaps after the rows, or shared by the batch.
at::Tensor random_matrices(Rng& rng, std::vector<std::int64_t> sizes, at::TensorOptions like) {
  const bool turned = rng.between(0, 1) == 1, inner_first = rng.between(0, 3) == 0;
  const bool shared = rng.between(0, 4) == 0 && sizes.size() == 3;
  const std::int64_t gap = rng.between(0, 2) == 0 ? rng.between(1, 5) : 0;
  std::vector<std::int64_t> strided_sizes = sizes;
  if (turned) std::swap(strided_sizes[strided_sizes.size() - 1], strided_sizes[strided_sizes.size() - 2]);
  if (shared) strided_sizes[0] = 1;
  if (inner_first && sizes.size() == 4) std::swap(strided_sizes[0], strided_sizes[1]);
  const std::int64_t columns = strided_sizes.back();
  strided_sizes.back() += gap;
  std::int64_t count = 1;
  for (const std::int64_t each : strided_sizes) count *= each;
  // Memory may begin at any offset.
  const std::int64_t offset = rng.between(0, 3) == 0 ? rng.between(1, 3) : 0;
  at::Tensor x = at::empty({offset + count}, at::TensorOptions(at::kDouble));
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<double>()[i] = rng.normal();
  x = x.to(like.device()).to(c10::typeMetaToScalarType(like.dtype()));
  x = x.narrow(0, offset, count).view(strided_sizes).narrow(-1, 0, columns);
  if (inner_first && sizes.size() == 4) x = x.transpose(0, 1);
  if (turned) x = x.transpose(-1, -2);
  return shared ? x.expand(sizes) : x;
}

struct Expected {
  std::vector<double> y, activated, columns;
  double size = 0;  // sum of the absolute values of the terms
};

double function_of(lane::ActivationFn activation, double x) {
  switch (activation) {
    case lane::kRelu:
      return std::max(x, 0.0);
    case lane::kGelu:
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case lane::kSilu:
      return x / (1 + std::exp(-x));
    case lane::kHardSwish:
      return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
    case lane::kClip:
      return std::min(std::max(x, 0.0), 6.0);
    default:
      return x;
  }
}

double slope_of(lane::ActivationFn activation, double x) {
  switch (activation) {
    case lane::kRelu:
      return x > 0 ? 1 : 0;
    case lane::kGelu: {
      const double c = 2 * std::sqrt(2 / M_PI), gate = 1 / (1 + std::exp(-c * (x + 0.044715 * x * x * x)));
      return gate + x * gate * (1 - gate) * c * (1 + 3 * 0.044715 * x * x);
    }
    case lane::kSilu: {
      const double gate = 1 / (1 + std::exp(-x));
      return gate * (1 + x * (1 - gate));
    }
    case lane::kHardSwish:
      return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case lane::kClip:
      return x > 0 && x < 6 ? 1 : 0;
    default:
      return 1;
  }
}

Expected wanted(const at::Tensor& left, const at::Tensor& right, const ProductEpilogue& end) {
  const auto l = numbers(left), r = numbers(right);
  const auto bias = end.bias.defined() ? numbers(end.bias) : std::vector<double>{};
  const auto other = end.other.defined() ? numbers(end.other) : std::vector<double>{};
  const auto pre_activation = end.pre_activation.defined() ? numbers(end.pre_activation) : std::vector<double>{};
  const auto m = static_cast<std::size_t>(left.size(-2)), k = static_cast<std::size_t>(left.size(-1)),
             n = static_cast<std::size_t>(right.size(-1)), batch = l.size() / m / k;
  Expected all;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0, terms = 1;
        for (std::size_t t = 0; t < k; ++t) {
          const double term = l[(b * m + i) * k + t] * r[(b * k + t) * n + j];
          sum += term;
          terms += std::fabs(term);
        }
        sum *= end.scale;
        if (!bias.empty()) sum += bias[b * n + j];
        if (!other.empty()) sum += other[(b * m + i) * n + j];
        if (!pre_activation.empty()) sum *= slope_of(end.activation.of, pre_activation[(b * m + i) * n + j]);
        all.y.push_back(sum);
        all.activated.push_back(function_of(end.activation.of, sum));
        all.size = std::max(all.size, terms);
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t t = 0; t < k; ++t) sum += r[(b * k + t) * n + j];
      all.columns.push_back(sum);
    }
  }
  return all;
}

class LaneProductsTest : public LaneKernelTest {};

TEST_P(LaneProductsTest, MatchDoublesForRandomSizesAndEpilogues) {
  const c10::InferenceMode no_gradients;
  Rng rng(20261126);
  for (int round = 0; round < 150; ++round) {
    const bool doubles = rng.between(0, 2) == 0, inner = rng.between(0, 2) == 0;
    const auto like = at::TensorOptions(doubles ? at::kDouble : at::kFloat).device(device().device());
    const auto size = [&](std::int64_t most) {
      return rng.between(0, 1) == 0 ? 4 * rng.between(1, most / 4) : rng.between(1, most);
    };
    // Some products have few elements and long sums, which LibTorch computes.
    const bool is_long = rng.between(0, 9) == 0;
    const std::int64_t m = size(is_long ? 40 : 150), k = is_long ? 512 + size(90) : size(70),
                       n = size(is_long ? 40 : 150);
    std::vector<std::int64_t> batch{rng.between(1, 3)};
    if (inner) batch.push_back(rng.between(1, 3));
    const auto sizes = [&](std::int64_t rows, std::int64_t columns) {
      std::vector<std::int64_t> all = batch;
      all.insert(all.end(), {rows, columns});
      return all;
    };
    const at::Tensor left = random_matrices(rng, sizes(m, k), like), right = random_matrices(rng, sizes(k, n), like);
    ProductEpilogue end;
    end.activation = {static_cast<lane::ActivationFn>(rng.between(0, 5)), 0, 6};
    if (rng.between(0, 1) == 0) end.scale = 0.25;
    if (rng.between(0, 2) == 0) end.other = random_matrices(rng, sizes(m, n), like);
    if (!inner && rng.between(0, 1) == 0) end.bias = random_matrices(rng, {batch[0], 1, n}, like).squeeze(1);
    if (rng.between(0, 2) == 0) {
      end.pre_activation = random_matrices(rng, sizes(m, n), like);
    } else {
      end.activated = rng.between(0, 1) == 0;
    }
    end.column_sums = rng.between(0, 1) == 0;
    const LaneProducts multiply(*device().kernels(), OperandRounding{});
    const Expected want = wanted(left, right, end);
    const double most = want.size * (doubles ? 1e-14 : 1e-6);
    std::vector<LaneProducts> all;
    for (const std::string& tile : LaneProducts::tiles(left.scalar_type())) all.push_back(multiply.with_tile(tile));
    const ProductResult first = all.front()(left, right, end);
    all.push_back(multiply);
    for (const LaneProducts& each : all) {
      const ProductResult out = each(left, right, end);
      ASSERT_EQ(out.y.sizes(), sizes(m, n));
      EXPECT_LE(distance(out.y, want.y), most) << "round " << round;
      if (end.activated) {
        EXPECT_LE(distance(out.activated, want.activated), most) << "round " << round;
      }
      if (end.column_sums) {
        EXPECT_LE(distance(out.column_sums, want.columns), doubles ? 1e-11 : 2e-5) << "round " << round;
      }
      if (!is_long || &each != &all.back()) {
        EXPECT_TRUE(out.y.equal(first.y)) << "round " << round << ": the bits depend on the tile";
      }
    }
    // A single matrix of the batch, and a batch with NaN in other matrices.
    const std::int64_t last = batch[0] - 1;
    const auto alone = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, last, 1) : x; };
    ProductEpilogue of = end;
    of.bias = alone(end.bias), of.pre_activation = alone(end.pre_activation), of.other = alone(end.other);
    EXPECT_TRUE(all.front()(alone(left), alone(right), of).y.equal(alone(first.y))) << "round " << round;
  }
}

// The destination has its matrices in another order, with gaps after the rows.
TEST_P(LaneProductsTest, WriteOnlyTheirDestination) {
  const c10::InferenceMode no_gradients;
  Rng rng(7);
  const auto like = at::TensorOptions(at::kFloat).device(device().device());
  const LaneProducts multiply(*device().kernels(), OperandRounding{});
  for (int round = 0; round < 40; ++round) {
    const std::int64_t outer = rng.between(1, 4), inner = rng.between(1, 4), m = rng.between(1, 70),
                       n = rng.between(1, 70);
    const std::int64_t k = rng.between(0, 4) == 0 ? 600 : rng.between(1, 40),
                       gap = 4 * rng.between(0, 2) + rng.between(0, 1);
    const at::Tensor left = random_matrices(rng, {outer, inner, m, k}, like),
                     right = random_matrices(rng, {outer, inner, k, n}, like);
    const at::Tensor memory = at::full({outer, m, inner, n + gap}, 7, like);
    const at::Tensor destination = memory.permute({0, 2, 1, 3}).narrow(3, 0, n);
    multiply(left, right, {.destination = destination});
    const Expected want = wanted(left, right, {});
    EXPECT_LE(distance(destination, want.y), 1e-6 * want.size) << "round " << round;
    EXPECT_TRUE(memory.narrow(3, n, gap).eq(7).all().item<bool>()) << "round " << round;
  }
}

TEST_P(LaneProductsTest, KeepNanInItsMatrix) {
  const c10::InferenceMode no_gradients;
  const auto like = at::TensorOptions(at::kFloat).device(device().device());
  const LaneProducts multiply(*device().kernels(), OperandRounding{});
  at::Tensor left = at::ones({3, 33, 7}, like), right = at::ones({3, 7, 21}, like);
  left.select(0, 1).fill_(NAN);
  for (const std::string& tile : LaneProducts::tiles(at::kFloat)) {
    const ProductResult out = multiply.with_tile(tile)(left, right);
    for (const std::int64_t lane : {0, 2}) EXPECT_TRUE(out.y.select(0, lane).eq(7).all().item<bool>()) << tile;
    EXPECT_TRUE(out.y.select(0, 1).isnan().all().item<bool>()) << tile;
  }
}

// Fused updates equal updates after the gradient, bit by bit, including all memory around the parameters.
TEST_P(LaneProductsTest, FuseUpdatesWithEqualResults) {
  const c10::InferenceMode no_gradients;
  Rng rng(259);
  const std::vector<const char*> rules{"sgd", "adam", "adamw", "lion", "rmsprop"};
  const LaneKernels& kernels = *device().kernels();
  const LaneProducts multiply(kernels, OperandRounding{});
  int num_fused = 0;
  for (int round = 0; round < 60; ++round) {
    const bool doubles = rng.between(0, 2) == 0;
    const auto like = at::TensorOptions(doubles ? at::kDouble : at::kFloat).device(device().device());
    const auto normals = [&](std::vector<std::int64_t> sizes) {
      at::Tensor x = at::empty(sizes, at::TensorOptions(at::kDouble));
      for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<double>()[i] = rng.normal();
      return x;
    };
    const auto size = [&](std::int64_t most) {
      return rng.between(0, 1) == 0 ? 4 * rng.between(1, most / 4) : rng.between(1, most);
    };
    const std::int64_t lanes = rng.between(1, 4), m = size(300), n = size(150), k = size(70);
    const std::int64_t begin = rng.between(0, 2) > 0 ? 16 : rng.between(0, 9);
    const std::int64_t gap = rng.between(0, 2) > 0 ? 4 - m * n % 4 : rng.between(0, 3);
    const at::Tensor left = normals({lanes, k, m}).to(like).transpose(1, 2), right = normals({lanes, k, n}).to(like);
    const at::Tensor hyper = normals({lanes, UpdateHyperTable::kColumns}).abs().add(0.1).to(like.device());
    const at::Tensor active = at::ones({lanes}, like.dtype(at::kLong));
    if (lanes > 1) active.select(0, rng.between(0, lanes - 1)).fill_(0);
    const auto rule = static_cast<std::size_t>(rng.between(0, 4));
    const std::int64_t slots = rule == 0 || rule == 3 ? 1 : 2, row = begin + m * n + gap;
    const at::Tensor rows_before = normals({1 + slots, lanes, row}).abs().to(like);
    const auto descended_of = [&](const at::Tensor& state, std::int64_t from) {
      const auto part = [&](std::int64_t i) { return state.select(0, i).narrow(1, from, row - from).data_ptr(); };
      return lane::UpdateTarget{.active = reinterpret_cast<const long long*>(active.data_ptr()),
                                .hyper = hyper.data_ptr<double>(),
                                .parameters = part(0),
                                .slots = {part(1), slots == 2 ? part(2) : nullptr},
                                .lane = row,
                                .columns = UpdateHyperTable::kColumns};
    };
    const ProductResult whole = multiply(left, right, {.scale = 0.5, .column_sums = true});
    const at::Tensor later = rows_before.clone();
    lane::Update update{.of = {}, .to = descended_of(later, 0), .scale = nullptr, .updates = 0, .note = {}};
    update.of.items = 1;
    update.of.count = (m * n + 3) / 4 * 4;
    update.of.length[0] = m * n;
    update.of.begin[0] = begin;
    update.of.from[0] = whole.y.data_ptr();
    update.of.from_stride[0] = m * n;
    update.updates = lanes * update.of.count / 4;
    kernels.run((std::string("update_") + rules[rule]).c_str(), rows_before.scalar_type(), update.updates, update);
    for (const std::string& tile : LaneProducts::tiles(rows_before.scalar_type())) {
      const at::Tensor at_once = rows_before.clone();
      const FusedUpdate fused_update{descended_of(at_once, begin), static_cast<lane::UpdateRule>(lane::kSgd + rule)};
      const ProductResult out =
          multiply.with_tile(tile)(left, right, {.scale = 0.5, .column_sums = true, .fused_update = &fused_update});
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        if (active[lane].item<std::int64_t>() == 0) continue;
        EXPECT_TRUE(out.column_sums.select(0, lane).equal(whole.column_sums.select(0, lane))) << "round " << round;
      }
      if (out.y.defined()) continue;  // no tile supports these strides
      ++num_fused;
      EXPECT_TRUE(at_once.equal(later)) << "round " << round << ", " << tile << ", " << rules[rule];
      EXPECT_FALSE(at_once.equal(rows_before)) << "round " << round;
    }
  }
  EXPECT_GE(num_fused, 60);
}

INSTANTIATE_TEST_SUITE_P(Devices, LaneProductsTest, kKernelDevices, kernel_device_name);

}  // namespace
}  // namespace lanista::device
