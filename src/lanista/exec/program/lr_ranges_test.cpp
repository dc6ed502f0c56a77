// Learning-rate factors by parameter: against a step in double, and against equivalent steps to the bit.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lanista/base/rng.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;
using Numbers = std::vector<double>;

constexpr std::size_t kIn = 3, kHidden = 4, kOut = 2, kRows = 5;
constexpr std::int64_t kBatch = kRows;

const TestModel kTwoParts{
    "two_parts", "%0 = input(shape=[3])\n%1 = linear(%0, out=4)\n%2 = linear(%1, out=2)\n%3 = output(%2)\n", "mse"};

// The two layers and their gradients, sum by sum.
struct TwoLayers {
  std::map<std::string, Numbers> weights;

  std::map<std::string, Numbers> gradients(const OwnedBatch& batch) const {
    const Numbers &w1 = weights.at("n1.weight"), &b1 = weights.at("n1.bias"), &w2 = weights.at("n2.weight"),
                  &b2 = weights.at("n2.bias");
    std::map<std::string, Numbers> out{{"n1.weight", Numbers(w1.size())},
                                       {"n1.bias", Numbers(b1.size())},
                                       {"n2.weight", Numbers(w2.size())},
                                       {"n2.bias", Numbers(b2.size())}};
    for (std::size_t n = 0; n < kRows; ++n) {
      const auto x = [&](std::size_t i) { return static_cast<double>(batch.features[n * kIn + i]); };
      Numbers h(kHidden), dh(kHidden);
      for (std::size_t j = 0; j < kHidden; ++j) {
        h[j] = b1[j];
        for (std::size_t i = 0; i < kIn; ++i) h[j] += w1[j * kIn + i] * x(i);
      }
      for (std::size_t k = 0; k < kOut; ++k) {
        double y = b2[k];
        for (std::size_t j = 0; j < kHidden; ++j) y += w2[k * kHidden + j] * h[j];
        const double dy =
            2 * (y - static_cast<double>(batch.targets[n * kOut + k])) / static_cast<double>(kRows * kOut);
        out["n2.bias"][k] += dy;
        for (std::size_t j = 0; j < kHidden; ++j) {
          out["n2.weight"][k * kHidden + j] += dy * h[j];
          dh[j] += dy * w2[k * kHidden + j];
        }
      }
      for (std::size_t j = 0; j < kHidden; ++j) {
        out["n1.bias"][j] += dh[j];
        for (std::size_t i = 0; i < kIn; ++i) out["n1.weight"][j * kIn + i] += dh[j] * x(i);
      }
    }
    return out;
  }
};

// The published rule of each optimiser for one element with its own rate; a and b are its slots.
double stepped(const std::string& optimizer, const LaneHyper& h, double lr, int t, double p, double g, double& a,
               double& b) {
  if (optimizer == "sgd") {
    g += h.weight_decay * p;
    a = t == 1 ? g : h.momentum * a + g;
    return p - lr * a;
  }
  if (optimizer == "adam" || optimizer == "adamw") {
    if (optimizer == "adam") g += h.weight_decay * p;
    if (optimizer == "adamw") p -= lr * h.weight_decay * p;
    a = h.beta1 * a + (1 - h.beta1) * g;
    b = h.beta2 * b + (1 - h.beta2) * g * g;
    const double m = a / (1 - std::pow(h.beta1, t)), v = b / (1 - std::pow(h.beta2, t));
    return p - lr * m / (std::sqrt(v) + h.eps);
  }
  if (optimizer == "lion") {
    const double toward = h.beta1 * a + (1 - h.beta1) * g;
    a = h.beta2 * a + (1 - h.beta2) * g;
    return p - lr * ((toward > 0) - (toward < 0) + h.weight_decay * p);
  }
  if (optimizer == "rmsprop") {
    g += h.weight_decay * p;
    a = h.beta2 * a + (1 - h.beta2) * g * g;
    b = h.momentum * b + g / (std::sqrt(a) + h.eps);
    return p - lr * b;
  }
  ADD_FAILURE() << "no rule of " << optimizer << " here";
  return p;
}

Numbers numbers_of(const Tensor& tensor) {
  const auto values = elements_of<double>(tensor);
  return {values.begin(), values.end()};
}

/// The elements that train with `factor`, among the tensors of this node.
std::vector<LrRange> rates_of(const Program& program, const std::string& node, double factor) {
  std::vector<LrRange> out;
  for (const StateTensorLayout& item : program.state_format().layout().items) {
    if (!item.tensor.trained || !item.tensor.name.starts_with(node + ".")) continue;
    out.push_back({item.range.begin, item.range.count, factor});
  }
  return out;
}

TEST(LrRanges, MatchHandWrittenOptimiserSteps) {
  LaneHyper hyper{.lr = 0.03, .momentum = 0.8, .weight_decay = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6};
  for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) {
    SCOPED_TRACE(optimizer.name);
    const Derived derived = derive(kTwoParts, optimizer.name);
    Program program = compile(derived, {.max_batch = kBatch, .precision = Precision::kFloat64});
    program.initialise(0, 5);
    std::vector<LrRange> lr_ranges = rates_of(program, "n1", 0.125);
    for (const LrRange& each : rates_of(program, "n2", 3)) lr_ranges.push_back(each);
    ASSERT_EQ(lr_ranges.size(), 4U);
    hyper.lr_ranges = lr_ranges;
    TwoLayers byhand;
    for (const char* name : {"n1.weight", "n1.bias", "n2.weight", "n2.bias"}) {
      byhand.weights[name] = numbers_of(tensor_named(program.extract(0), name));
    }
    std::map<std::string, Numbers> a, b;
    for (int t = 1; t <= 4; ++t) {
      const OwnedBatch batch = random_batch(derived, kBatch, static_cast<std::uint64_t>(t));
      step_once(program, batch, hyper);
      for (const auto& [name, gradient] : byhand.gradients(batch)) {
        const double lr = hyper.lr * (name.starts_with("n1") ? 0.125 : 3);
        a[name].resize(gradient.size()), b[name].resize(gradient.size());
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          double& p = byhand.weights[name][i];
          p = stepped(optimizer.name, hyper, lr, t, p, gradient[i], a[name][i], b[name][i]);
        }
      }
    }
    for (const auto& [name, wanted] : byhand.weights) {
      const Numbers seen = numbers_of(tensor_named(program.extract(0), name));
      ASSERT_EQ(seen.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(seen[i], wanted[i], 1e-12) << name << " " << i;
    }
  }
}

// Ranges begin and end anywhere, inside of tensors too.
std::vector<LrRange> random_ranges(const Program& program, Rng& rng, bool ones) {
  std::vector<LrRange> out;
  const std::int64_t all = program.state_format().layout().parameters;
  for (std::int64_t at = rng.between(0, 20); at < all; at += rng.between(0, 40)) {
    const std::int64_t count = std::min<std::int64_t>(rng.between(1, 90), all - at);
    out.push_back({at, count, ones ? 1.0 : rng.uniform(0.01, 2)});
    at += count;
  }
  return out;
}

// Factors of 1 have no effect.
TEST(LrRanges, OfFactorOneChangeNoBit) {
  Rng rng(17);
  for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) {
    SCOPED_TRACE(optimizer.name);
    const Derived derived = derive(small_cnn(), optimizer.name);
    Program plain = compile(derived, {.max_batch = 8}), rated = compile(derived, {.max_batch = 8});
    LaneHyper hyper{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.02, .clip_norm = 0.7};
    const std::vector<LrRange> ranges = random_ranges(rated, rng, true);
    ASSERT_GT(ranges.size(), 20U);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const OwnedBatch batch = random_batch(derived, 8, i);
      hyper.lr_ranges = {};
      step_once(plain, batch, hyper);
      hyper.lr_ranges = ranges;
      step_once(rated, batch, hyper);
    }
    EXPECT_TRUE(plain.extract(0) == rated.extract(0));
  }
}

// Lanes of one program have their own factors, and each has the bits that it has alone.
TEST(LrRanges, ApplyToOneLaneOnly) {
  Rng rng(18);
  const Derived derived = derive(small_mlp(), "adamw");
  Program group = compile(derived, {.lanes = 3, .max_batch = 8});
  std::vector<std::vector<LrRange>> ranges{random_ranges(group, rng, false), {}, random_ranges(group, rng, false)};
  std::vector<LaneHyper> hyper(3, {.lr = 0.01, .weight_decay = 0.1, .clip_norm = 1});
  for (std::size_t lane = 0; lane < 3; ++lane) hyper[lane].lr_ranges = ranges[lane];
  const std::vector<std::uint8_t> active(3, 1);
  std::vector<double> loss(3);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const OwnedBatch batch = random_batch(derived, 8, i);
    const Batch view = batch.view();
    group.train_step({&view, 1}, hyper, active, loss);
  }
  for (std::int64_t lane = 0; lane < 3; ++lane) {
    Program alone = compile(derived, {.max_batch = 8});
    for (std::uint64_t i = 0; i < 4; ++i) {
      step_once(alone, random_batch(derived, 8, i), hyper[static_cast<std::size_t>(lane)]);
    }
    EXPECT_TRUE(alone.extract(0) == group.extract(lane)) << lane;
  }
  EXPECT_FALSE(group.extract(0) == group.extract(1));
}

// A split step applies factors too.
TEST(LrRanges, ApplyInASeparateCommit) {
  Rng rng(19);
  const Derived derived = derive(small_mlp(), "sgd");
  Program whole = compile(derived, {.max_batch = 8}), halves = compile(derived, {.max_batch = 8});
  const std::vector<LrRange> ranges = random_ranges(whole, rng, false);
  const LaneHyper hyper{.lr = 0.1, .momentum = 0.5, .lr_ranges = ranges};
  const OwnedBatch batch = random_batch(derived, 8, 1);
  step_once(whole, batch, hyper);
  auto gradients = *halves.make_gradients();
  halves.gradients(0, batch.view(), 8, hyper, gradients);
  halves.commit(0, gradients, hyper);
  EXPECT_TRUE(whole.extract(0) == halves.extract(0));
}

TEST(LrRanges, SplitARangeAtFactorBoundaries) {
  const std::vector<LrRange> ranges{{2, 3, 0.5}, {5, 2, 0.25}, {10, 5, 2}};
  const auto pieces = [&](std::int64_t begin, std::int64_t count) {
    std::string out;
    for_each_lr_range(ranges, begin, count, [&](std::int64_t at, std::int64_t n, double factor) {
      out += std::to_string(at) + "+" + std::to_string(n) + "*" + std::to_string(factor).substr(0, 4) + " ";
    });
    return out;
  };
  EXPECT_EQ(pieces(0, 2), "0+2*1.00 ");
  EXPECT_EQ(pieces(0, 12), "0+2*1.00 2+3*0.50 5+2*0.25 7+3*1.00 10+2*2.00 ");
  EXPECT_EQ(pieces(3, 3), "3+2*0.50 5+1*0.25 ");
  EXPECT_EQ(pieces(15, 4), "15+4*1.00 ");
}

}  // namespace
}  // namespace lanista::program
