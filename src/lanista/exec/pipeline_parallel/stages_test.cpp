// Steps in stages against one thread that adds the same micro-batches, for every operator, and refused inputs.
// tests/pipeline_proof.cpp tests the planner's plans and schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "lanista/base/rng.h"
#include "lanista/exec/pipeline_parallel/stage_partition.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"
#include "support/exec/pipeline_parallel/stage_test_support.h"
#include "support/exec/program/allocation_counter.h"

namespace lanista::program {
namespace {

using namespace testing;
using State = std::vector<Tensor>;

constexpr std::int64_t kMost = 16, kParts = 4;
constexpr std::int64_t kSizes[] = {16, 13, 3, 16};
const LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0.1};

ProgramOptions options_of(const Stages* stages, Precision precision = Precision::kFloat32) {
  return {.max_batch = kMost, .accumulate = kParts, .stages = stages, .precision = precision};
}

Result<Program> tried(const Derived& derived, const ProgramOptions& options) {
  return Program::compile(derived.train, derived.infer, options);
}

class StagedStep : public ::testing::TestWithParam<TestModel> {};

TEST_P(StagedStep, TrainAsOneThread) {
  const Derived derived = derive(GetParam(), "adam");
  // Batch norm uses the statistics of its micro-batch. pipeline_proof compares it with a loop over micro-batches.
  if (!derived.train.renewed.empty()) GTEST_SKIP() << "exchanges values between parts";
  for (const auto precision : {Precision::kFloat32, Precision::kFloat64}) {
    Program plain = compile(derived, options_of(nullptr, precision));
    for (const std::size_t count : {2U, 7U}) {
      const Stages stages = split_into_stages(derived.model, count, kParts);
      Program ours = compile(derived, options_of(&stages, precision));
      ours.initialise(0, 3);
      plain.initialise(0, 3);
      for (std::size_t i = 0; i < std::size(kSizes); ++i) {
        const OwnedBatch batch = random_batch(derived, kSizes[i], 10 + i);
        EXPECT_EQ(step_once(ours, batch, kHyper), step_once(plain, batch, kHyper)) << count << " stages, step " << i;
      }
      EXPECT_TRUE(ours.extract(0) == plain.extract(0)) << count << " stages";
      const OwnedBatch batch = random_batch(derived, 5, 50);
      std::vector<double> staged(static_cast<std::size_t>(5 * ours.prediction_size())), unstaged = staged;
      if (precision == Precision::kFloat32) continue;
      ours.predict(0, batch.view(), staged);
      plain.predict(0, batch.view(), unstaged);
      EXPECT_EQ(staged, unstaged);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, StagedStep, ::testing::ValuesIn(operator_models()),
                         [](const auto& of) { return of.param.name; });

TEST(Stages, ExchangeStatesWithOneThreadPrograms) {
  const Derived derived = derive(small_mlp());
  const Stages stages = split_into_stages(derived.model, 3, kParts);
  Program ours = compile(derived, options_of(&stages)), plain = compile(derived, options_of(nullptr));
  EXPECT_TRUE(ours.state_format().digest() == plain.state_format().digest());
  ours.initialise(0, 3);
  plain.initialise(0, 3);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    step_once(ours, batch, kHyper);
    step_once(plain, batch, kHyper);
    LaneState a = ours.detach(0), b = plain.detach(0);  // each continues in the other program
    ours.attach(0, std::move(b));
    plain.attach(0, std::move(a));
  }
  EXPECT_TRUE(ours.extract(0) == plain.extract(0));
}

TEST(Stages, AddToExistingGradients) {
  const Derived derived = derive(small_mlp());
  const Stages stages = split_into_stages(derived.model, 3, kParts);
  Program ours = compile(derived, options_of(&stages)), plain = compile(derived, options_of(nullptr));
  auto seen = ours.make_gradients(), wanted = plain.make_gradients();
  ASSERT_TRUE(seen.ok() && wanted.ok());
  for (std::uint64_t i = 0; i < 3; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    EXPECT_EQ(ours.gradients(0, batch.view(), 3 * kMost, kHyper, *seen, i > 0),
              plain.gradients(0, batch.view(), 3 * kMost, kHyper, *wanted, i > 0));
    // One thread adds the parts in another order, so results agree up to rounding.
    const auto a = seen->extract(), b = wanted->extract();
    for (std::size_t t = 0; t < a.size(); ++t) {
      const auto x = elements_of<float>(a[t]), y = elements_of<float>(b[t]);
      for (std::size_t e = 0; e < x.size(); ++e) EXPECT_NEAR(x[e], y[e], 1e-5) << a[t].name;
    }
  }
}

TEST(Stages, UseTheLaneAttributes) {
  const Derived derived = derive(kDropoutModel);
  const Stages stages = split_into_stages(derived.model, 5, kParts);
  Program ours = compile(derived, options_of(&stages)), plain = compile(derived, options_of(nullptr));
  const std::vector<double> of_ours = lane_attr_values(ours.lane_attrs()),
                            of_plain = lane_attr_values(plain.lane_attrs());
  LaneHyper hyper = kHyper;
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  hyper.lane_attrs = of_ours;
  const double seen = step_once(ours, batch, hyper);
  hyper.lane_attrs = of_plain;
  EXPECT_EQ(seen, step_once(plain, batch, hyper));
  EXPECT_TRUE(ours.extract(0) == plain.extract(0));
}

TEST(Stages, UseTheLrRangesOfALane) {
  const Derived derived = derive(small_mlp(), "adamw");
  const Stages stages = split_into_stages(derived.model, 3, kParts);
  Program ours = compile(derived, options_of(&stages)), plain = compile(derived, options_of(nullptr));
  const std::vector<LrRange> lr_ranges{{3, 40, 0.1}, {60, 5000, 0.25}};
  LaneHyper hyper = kHyper;
  hyper.weight_decay = 0.1;
  hyper.lr_ranges = lr_ranges;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    EXPECT_EQ(step_once(ours, batch, hyper), step_once(plain, batch, hyper));
  }
  EXPECT_TRUE(ours.extract(0) == plain.extract(0));
}

TEST(Stages, AllocateNothingInAStep) {
  const Derived derived = derive(small_mlp());
  const Stages stages = split_into_stages(derived.model, 3, kParts);
  Program ours = compile(derived, options_of(&stages));
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  step_once(ours, batch, kHyper);
  const Batch view = batch.view();
  const std::uint8_t active = 1;
  double loss = 0;
  const AllocationCounter counter;
  ours.train_step({&view, 1}, {&kHyper, 1}, {&active, 1}, {&loss, 1});
  EXPECT_EQ(counter.count(), 0);
}

TEST(Stages, ProfileEveryPlanLine) {
  const Derived derived = derive(small_cnn());
  const Stages stages = split_into_stages(derived.model, 3, kParts);
  Program ours = compile(derived, options_of(&stages));
  std::size_t lines = 0;
  ours.profile_step(random_batch(derived, kMost, 1).view(), kHyper, [&] { ++lines; });
  EXPECT_EQ(lines, ours.plan().size());
}

// An operator that throws, early or late, in any stage: nothing waits forever, no state changes, and the next step
// works.
TEST(Stages, KeepTheLaneStateWhenAStageThrows) {
  const auto left = std::make_shared<std::atomic<int>>(-1);
  const Operators operators = with_throwing_operator(left);
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  const auto model = graph::parse(
      "%0 = input(shape=[6])\n%1 = linear(%0, out=6)\n%2 = thrower(%1)\n%3 = linear(%2, out=6)\n%4 = relu(%3)\n"
      "%5 = linear(%4, out=5)\n%6 = output(%5)\n");
  const Derived derived{*model, *autodiff::derive_training_step(*model, {}, ops),
                        *autodiff::derive_inference_step(*model, ops)};
  const Stages stages = split_into_stages(derived.model, 4, kParts);
  ProgramOptions options = options_of(&stages);
  options.operators = &operators;
  Program ours = compile(derived, options);
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  for (int calls = 0; calls < 8; ++calls) {
    const State before = ours.extract(0);
    *left = calls;
    EXPECT_THROW(step_once(ours, batch, kHyper), std::runtime_error) << calls;
    EXPECT_TRUE(ours.extract(0) == before) << calls;
    *left = -1;
    step_once(ours, batch, kHyper);
    EXPECT_FALSE(ours.extract(0) == before) << calls;
  }
}

TEST(Stages, RejectStagesThatDoNotCoverTheModel) {
  const Derived derived = derive(small_mlp());
  const Stages good = split_into_stages(derived.model, 3, kParts);
  const auto refused = [&](const char* why, const auto& spoil) {
    Stages stages = good;
    spoil(stages);
    const auto made = tried(derived, options_of(&stages));
    ASSERT_FALSE(made.ok()) << why;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument) << made.error().text();
    EXPECT_NE(made.error().message.find(why), std::string::npos) << made.error().message;
  };
  refused("the model has no stages", [](Stages& s) { s.stages.clear(); });
  refused("is in no stage", [](Stages& s) { s.stages[0].nodes[0] = graph::NodeId{77}; });
  refused("is in stage 0 and in stage 1", [](Stages& s) { s.stages[1].nodes.push_back(s.stages[0].nodes[0]); });
  refused("has no operators", [](Stages& s) { s.stages[1].nodes.clear(); });
  refused("0 micro-batches", [](Stages& s) { s.stages[1].micro_batches = 0; });
  refused("holds 0 micro-batches", [](Stages& s) { s.stages[1].slots = 0; });
  refused("does not wait for it", [](Stages& s) { s.stages[0].successors.clear(); });
  refused("is before stage 0", [](Stages& s) { s.stages[1].successors = {0}; });
  refused("which are all slots", [](Stages& s) { s.stages[0].slots = 3; });
  refused("is in a wrong position of its list", [](Stages& s) { std::swap(s.ranks[0][0], s.ranks[0][1]); });
  refused("has 3 whole passes of 4", [](Stages& s) { s.ranks[1].pop_back(); });
  refused("one rank must run all of them", [](Stages& s) {
    s.ranks[1].push_back(s.ranks[0].back());
    s.ranks[0].pop_back();
  });

  ProgramOptions options = options_of(&good);
  options.threads = 2;
  EXPECT_FALSE(tried(derived, options).ok());
  options.threads = 1;
  options.accumulate = 3;
  const auto other = tried(derived, options);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("the other 4"), std::string::npos) << other.error().message;
}

TEST(Stages, FitWhereAWholeBatchDoesNot) {
  const Derived derived = derive(small_cnn());
  constexpr std::int64_t kLarge = 64, kMany = 16;
  const Program whole = compile(derived, {.max_batch = kLarge});
  Stages stages = split_into_stages(derived.model, 3, kMany);
  // Alternating passes of one micro-batch, of which one is held back.
  for (Stage& stage : stages.stages) stage.slots = 1;
  stages.ranks.assign(1, {});
  for (std::uint32_t m = 0; m < kMany; ++m) {
    for (std::uint32_t s = 0; s < 3; ++s) stages.ranks[0].push_back({StagePass::Kind::kForward, s, m});
    for (std::uint32_t s = 3; s-- > 0;) stages.ranks[0].push_back({StagePass::Kind::kBackward, s, m});
  }
  Program plain = compile(derived, {.max_batch = kLarge, .accumulate = kMany});
  MemoryBudget budget(whole.bytes() * 3 / 4);
  ProgramOptions limited{.max_batch = kLarge, .accumulate = kMany, .stages = &stages};
  limited.budget = &budget;
  auto ours = tried(derived, limited);
  ASSERT_TRUE(ours.ok()) << ours.error().text();
  ASSERT_TRUE(ours->begin(0, 0).ok());
  const auto refused = tried(derived, {.max_batch = kLarge, .budget = &budget});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  const OwnedBatch batch = random_batch(derived, kLarge, 1);
  EXPECT_EQ(step_once(*ours, batch, kHyper), step_once(plain, batch, kHyper));

  stages.rank_bytes = 1000;
  limited.budget = nullptr;
  const auto small = tried(derived, limited);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, Code::kResourceExhausted);
  const std::string& message = small.error().message;
  const std::string before = "rank 0 of a pipeline needs ";
  ASSERT_EQ(message.find(before), 0U) << message;
  stages.rank_bytes = std::stoll(message.substr(before.size()));
  EXPECT_GT(stages.rank_bytes, ours->state_format().bytes());
  EXPECT_TRUE(tried(derived, limited).ok());
  --stages.rank_bytes;
  EXPECT_FALSE(tried(derived, limited).ok());
}

}  // namespace
}  // namespace lanista::program
