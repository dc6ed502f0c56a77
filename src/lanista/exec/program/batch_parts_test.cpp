// Batches in parts: shards and accumulation against the whole batch, and against each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/base/rng.h"
#include "lanista/exec/program/batch_split.h"
#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/program/allocation_counter.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;
using State = std::vector<Tensor>;

constexpr std::int64_t kMost = 16;
constexpr std::int64_t kBatchSizes[] = {1, 2, 3, 7, 8, 13, 16};  // fewer than shards, and such that do not divide
constexpr double kTolerance = 1e-12;
// The unit is the largest gradient of its kind in the model, because a gradient that is zero in exact arithmetic has no
// scale.
constexpr double kLeastShare = 1e-2;

// A large epsilon. Otherwise Adam's quotient of a gradient that is only rounding would be only rounding too.
const LaneHyper kHyper{.lr = 0.05,
                       .momentum = 0.9,
                       .weight_decay = 0.01,
                       .beta2 = 0.9,
                       .eps = 1e-2,
                       .clip_norm = 0.7,
                       .label_smoothing = 0.1};

std::vector<double> values_of(const Tensor& tensor) {
  const auto values = elements_of<double>(tensor);
  return {values.begin(), values.end()};
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

// The largest distance, of all tensors that are real, in units of the tensor's largest element.
double distance(const State& ours, const State& wanted) {
  EXPECT_EQ(ours.size(), wanted.size());
  double scale = 0, worst = 0;
  for (const Tensor& tensor : wanted) {
    if (tensor.type == ElementType::kF64) scale = std::max(scale, largest(values_of(tensor)));
  }
  for (std::size_t t = 0; t < wanted.size(); ++t) {
    EXPECT_EQ(ours[t].name, wanted[t].name);
    if (wanted[t].type != ElementType::kF64) continue;
    const auto a = values_of(ours[t]), b = values_of(wanted[t]);
    const double unit = std::max(largest(b), kLeastShare * scale);
    for (std::size_t i = 0; i < b.size(); ++i) {
      EXPECT_TRUE(std::isfinite(a[i]) && std::isfinite(b[i])) << ours[t].name;
      if (a[i] != b[i]) worst = std::max(worst, std::abs(a[i] - b[i]) / unit);
    }
  }
  return worst;
}

// Slots and values separately, because their scales differ.
double distance_of_states(const State& ours, const State& wanted) {
  double worst = 0;
  for (const char* kind : {"/momentum", "/m", "/v", ""}) {
    const auto only = [&](const State& all) {
      State some;
      for (const Tensor& tensor : all) {
        const bool slot = tensor.name.find('/') != std::string::npos;
        if (*kind == 0 ? !slot : tensor.name.ends_with(kind)) some.push_back(tensor);
      }
      return some;
    };
    worst = std::max(worst, distance(only(ours), only(wanted)));
  }
  return worst;
}

struct Trained {
  State state;
  std::vector<double> losses;
  bool operator==(const Trained&) const = default;
};

// Steps of a fresh lane on batches of these sizes.
Trained train(const Derived& derived, Program& program, std::span<const std::int64_t> sizes) {
  program.initialise(0, 3);
  Trained trained;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    trained.losses.push_back(step_once(program, random_batch(derived, sizes[i], 10 + i), kHyper));
  }
  trained.state = program.extract(0);
  return trained;
}

ProgramOptions cut(std::int64_t shards, std::int64_t accumulate, Precision precision = Precision::kFloat64) {
  return {.max_batch = kMost, .shards = shards, .accumulate = accumulate, .precision = precision};
}

Batch samples(const Batch& batch, const BatchPart& part) {
  const auto of_part = [&](auto values) {
    const std::size_t width = values.size() / static_cast<std::size_t>(batch.size);
    return values.subspan(width * static_cast<std::size_t>(part.begin), width * static_cast<std::size_t>(part.size));
  };
  return {part.size, of_part(batch.features), of_part(batch.labels), of_part(batch.targets),
          of_part(batch.sample_index)};
}

class BatchParts : public ::testing::TestWithParam<TestModel> {};

TEST_P(BatchParts, EqualTheWholeBatchGradient) {
  const Derived derived = derive(GetParam());
  Program whole = compile(derived, cut(1, 1));
  whole.initialise(0, 3);
  for (const auto& [shards, accumulate] : {std::pair(2, 1), {4, 1}, {8, 1}, {1, 4}, {3, 2}}) {
    Program parts = compile(derived, cut(shards, accumulate));
    parts.initialise(0, 3);
    auto wanted = whole.make_gradients(), seen = parts.make_gradients();
    ASSERT_TRUE(wanted && seen);
    for (const std::int64_t size : kBatchSizes) {
      SCOPED_TRACE(std::to_string(shards) + " x " + std::to_string(accumulate) + " of " + std::to_string(size));
      const OwnedBatch batch = random_batch(derived, size, 5);
      const double loss = whole.gradients(0, batch.view(), size, kHyper, *wanted);
      const double sum = parts.gradients(0, batch.view(), size, kHyper, *seen);
      EXPECT_NEAR(sum, loss, kTolerance * std::max(std::abs(loss), 1.0));
      EXPECT_LE(distance(seen->extract(), wanted->extract()), kTolerance);
    }
  }
}

TEST_P(BatchParts, TrainAsTheWholeBatch) {
  for (const std::string& optimizer : autodiff::optimizer_names()) {
    if (optimizer == "lion") continue;  // rounding decides the sign of a gradient that is zero in exact arithmetic
    const Derived derived = derive(GetParam(), optimizer);
    Program plain = compile(derived, cut(1, 1));
    for (const std::int64_t parts : {2, 4, 8}) {
      Program program = compile(derived, cut(parts, 1));
      for (const std::int64_t size : kBatchSizes) {
        SCOPED_TRACE(std::to_string(parts) + " shards of " + std::to_string(size));
        const Trained whole = train(derived, plain, {&size, 1});
        const Trained sharded = train(derived, program, {&size, 1});
        EXPECT_NEAR(sharded.losses[0], whole.losses[0], kTolerance * std::max(std::abs(whole.losses[0]), 1.0));
        EXPECT_LE(distance_of_states(sharded.state, whole.state), kTolerance);
      }
    }
  }
}

TEST_P(BatchParts, AccumulatedEqualShardsToTheBit) {
  for (const std::string& optimizer : autodiff::optimizer_names()) {
    const Derived derived = derive(GetParam(), optimizer);
    for (const auto precision : {Precision::kFloat32, Precision::kFloat64}) {
      for (const std::int64_t parts : {2, 4, 8}) {
        Program shards = compile(derived, cut(parts, 1, precision));
        Program accumulated = compile(derived, cut(1, parts, precision));
        EXPECT_TRUE(train(derived, shards, kBatchSizes) == train(derived, accumulated, kBatchSizes)) << parts;
      }
    }
  }
}

TEST_P(BatchParts, OfOneEqualTheWholeBatchToTheBit) {
  const Derived derived = derive(GetParam());
  Program program = compile(derived, cut(1, 1, Precision::kFloat32));
  Program halves = compile(derived, cut(1, 1, Precision::kFloat32));
  program.initialise(0, 3);
  halves.initialise(0, 3);
  auto gradients = halves.make_gradients();
  ASSERT_TRUE(gradients.ok());
  for (const std::int64_t size : kBatchSizes) {
    const OwnedBatch batch = random_batch(derived, size, 5);
    const double loss = step_once(program, batch, kHyper);
    const double sum = halves.gradients(0, batch.view(), size, kHyper, *gradients);
    halves.commit(0, *gradients, kHyper);
    EXPECT_NEAR(sum / static_cast<double>(size), loss, 1e-5 * std::max(1.0, std::abs(loss)));
  }
  EXPECT_TRUE(program.extract(0) == halves.extract(0));
}

// A program with batches in parts equals a caller that runs a program of whole batches part by part. Models with batch
// statistics are excluded.
TEST_P(BatchParts, SumGradientsInPartOrder) {
  const Derived derived = derive(GetParam());
  Program whole = compile(derived, cut(1, 1));
  Program parts = compile(derived, cut(4, 1));
  if (whole.describe().find("batch_norm_train") != std::string::npos) return;
  whole.initialise(0, 3);
  parts.initialise(0, 3);
  auto sum = whole.make_gradients(), seen = parts.make_gradients();
  ASSERT_TRUE(sum && seen);
  const std::int64_t size = 14;
  const OwnedBatch batch = random_batch(derived, size, 5);
  for (const bool add : {false, true}) {
    BatchSplit{4, 1}.for_each_part(size, [&](const BatchPart& part) {
      whole.gradients(0, samples(batch.view(), part), size, kHyper, *sum, add || part.shard > 0);
    });
    parts.gradients(0, batch.view(), size, kHyper, *seen, add);
    EXPECT_TRUE(seen->extract() == sum->extract()) << add;
  }
}

// Lanes with batches in parts: any number of them, on any thread.
TEST_P(BatchParts, AreIndependentOfOtherLanesInParts) {
  const Derived derived = derive(GetParam(), "adam");
  ProgramOptions options = cut(3, 2, Precision::kFloat32);
  Program single = compile(derived, options);
  const Trained alone = train(derived, single, kBatchSizes);
  options.lanes = 5;
  options.threads = 3;
  Program program = compile(derived, options);
  for (std::int64_t lane = 0; lane < 5; ++lane)
    program.initialise(lane, lane == 3 ? 3 : 100 + static_cast<std::uint64_t>(lane));
  const std::vector<LaneHyper> hyper(5, kHyper);
  const std::vector<std::uint8_t> active(5, 1);
  std::vector<double> loss(5), losses;
  for (std::size_t i = 0; i < std::size(kBatchSizes); ++i) {
    std::vector<OwnedBatch> owned;
    std::vector<Batch> batches;
    for (std::uint64_t lane = 0; lane < 5; ++lane) {
      owned.push_back(random_batch(derived, lane == 3 ? kBatchSizes[i] : 9, lane == 3 ? 10 + i : 70 * lane + i));
    }
    for (const OwnedBatch& each : owned) batches.push_back(each.view());
    if (i % 2 == 0) batches = {batches[3]};
    program.train_step(batches, hyper, active, loss);
    losses.push_back(loss[3]);
  }
  EXPECT_EQ(losses, alone.losses);
  EXPECT_TRUE(program.extract(3) == alone.state);
}

TEST_P(BatchParts, PredictAsTheWholeBatchToTheBit) {
  const Derived derived = derive(GetParam());
  std::vector<std::vector<float>> seen;
  for (const auto& options : {cut(1, 1, Precision::kFloat32), cut(1, 5, Precision::kFloat32)}) {
    Program program = compile(derived, options);
    program.initialise(0, 3);
    std::vector<float>& out = seen.emplace_back(static_cast<std::size_t>(13 * program.prediction_size()));
    program.predict(0, random_batch(derived, 13, 4).view(), out);
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_P(BatchParts, AllocateNothing) {
  if (!AllocationCounter::works()) GTEST_SKIP() << "a sanitizer has the allocator";
  const Derived derived = derive(GetParam());
  Program program = compile(derived, cut(2, 3));
  program.initialise(0, 1);
  const OwnedBatch batch = random_batch(derived, 13, 2);
  const Batch view = batch.view();
  const std::uint8_t active = 1;
  double loss = 0;
  const AllocationCounter counter;
  for (int step = 0; step < 2; ++step) program.train_step({&view, 1}, {&kHyper, 1}, {&active, 1}, {&loss, 1});
  EXPECT_EQ(counter.count(), 0);
}

INSTANTIATE_TEST_SUITE_P(Operators, BatchParts, ::testing::ValuesIn(operator_models()),
                         [](const auto& model) { return model.param.name; });

TEST(BatchPartsMemory, AccumulationNeedsLessUnlessStatisticsAreExchanged) {
  const auto bytes = [](const TestModel& model, std::int64_t accumulate) {
    return compile(derive(model), {.max_batch = 256, .accumulate = accumulate}).bytes();
  };
  EXPECT_LT(bytes(small_cnn(), 8), bytes(small_cnn(), 1) / 3);
  EXPECT_GT(bytes(model_named("batch_norm_image"), 8), bytes(model_named("batch_norm_image"), 1) / 2);
}

TEST(BatchPartsOptions, RejectsFewerThanOnePart) {
  const Derived derived = derive(small_mlp());
  for (const auto& [options, wanted] : {std::pair(ProgramOptions{.shards = 0}, "shards is 0"),
                                        {ProgramOptions{.accumulate = 5000}, "accumulate is 5000"}}) {
    const auto program = Program::compile(derived.train, derived.infer, options);
    ASSERT_FALSE(program.ok());
    EXPECT_NE(program.error().message.find(wanted), std::string::npos) << program.error().message;
  }
}

}  // namespace
}  // namespace lanista::program
