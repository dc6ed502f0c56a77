// Steps of ranks that share one block of memory, as processes do, or nothing, as on several hosts. Each rank compiles
// the program again. tests/pipeline_proof.cpp tests processes and connections.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"
#include "support/exec/pipeline_parallel/stage_test_support.h"

namespace lanista::program {
namespace {

using namespace testing;

constexpr std::int64_t kMost = 16, kParts = 4;
constexpr std::int64_t kSizes[] = {16, 13, 3, 16};
const LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0.1};

ProgramOptions options_of(const Stages* stages, Precision precision, std::int64_t parts) {
  return {.max_batch = kMost, .accumulate = parts, .stages = stages, .precision = precision};
}

std::shared_ptr<ThreadRanks> make_thread_ranks(const Derived& derived, const Stages& stages, Precision precision,
                                               const Operators* operators = nullptr) {
  const auto make = [&derived, stages, precision, operators] {
    Stages theirs = stages;
    theirs.remote_ranks = std::make_shared<ThreadRanks>(0, ThreadRanks::Make());
    ProgramOptions options = options_of(&theirs, precision, stages.pieces());
    options.operators = operators;
    return *StageWorker::compile(kernels::best_isa(), derived.train, derived.infer, options);
  };
  return std::make_shared<ThreadRanks>(stages.ranks.size() - 1, make, stages.has_separate_memory);
}

struct SeparateMemoryRun {
  SeparateMemoryRun(const Derived& derived, std::size_t count, std::int64_t parts, std::size_t ranks = 2,
                    Precision precision = Precision::kFloat32, const Operators* operators = nullptr,
                    bool has_separate_memory = false) {
    Stages stages = split_into_stages(derived.model, count, parts, ranks);
    stages.has_separate_memory = has_separate_memory;
    at = make_thread_ranks(derived, stages, precision, operators);
    stages.remote_ranks = at;
    ProgramOptions options = options_of(&stages, precision, parts);
    options.operators = operators;
    program = std::make_unique<Program>(compile(derived, options));
  }
  std::shared_ptr<ThreadRanks> at;
  std::unique_ptr<Program> program;
};

class DistributedStages : public ::testing::TestWithParam<TestModel> {};

TEST_P(DistributedStages, TrainAsOneThread) {
  const Derived derived = derive(GetParam(), "adam");
  if (!derived.train.renewed.empty()) GTEST_SKIP() << "exchanges values between parts";
  for (const auto precision : {Precision::kFloat32, Precision::kFloat64}) {
    for (const std::size_t count : {2U, 7U}) {
      for (const std::int64_t parts : {std::int64_t{1}, kParts}) {
        SeparateMemoryRun ours(derived, count, parts, 3, precision);
        Program plain = compile(derived, options_of(nullptr, precision, parts));
        SeparateMemoryRun far(derived, count, parts, 3, precision, nullptr, true);
        for (std::size_t i = 0; i < std::size(kSizes); ++i) {
          const OwnedBatch batch = random_batch(derived, kSizes[i], 10 + i);
          const double loss = step_once(plain, batch, kHyper);
          EXPECT_EQ(step_once(*ours.program, batch, kHyper), loss) << count << ", " << i;
          EXPECT_EQ(step_once(*far.program, batch, kHyper), loss) << count << ", " << i;
        }
        EXPECT_TRUE(ours.program->extract(0) == plain.extract(0)) << count << " stages, " << parts << " parts";
        EXPECT_TRUE(far.program->extract(0) == plain.extract(0)) << count << " stages, " << parts << " parts";
        EXPECT_FALSE(ours.at->is_entered || far.at->is_entered);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, DistributedStages, ::testing::ValuesIn(operator_models()),
                         [](const auto& of) { return of.param.name; });

// After any loss nothing of the step was done, and the next step resumes from the same state.
class RemoteRanksTest : public ::testing::TestWithParam<bool> {
 protected:
  static SeparateMemoryRun of(const Derived& derived, std::size_t count, std::size_t ranks = 2,
                              const Operators* operators = nullptr) {
    return SeparateMemoryRun(derived, count, kParts, ranks, Precision::kFloat32, operators, GetParam());
  }
};

TEST_P(RemoteRanksTest, KeepTheLaneStateWhenARankIsLost) {
  const Derived derived = derive(small_cnn(), "adam");
  SeparateMemoryRun ours = of(derived, 4, 3);
  Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
  Rng rng(7);
  int lost = 0;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    if (rng.bernoulli(0.3)) ours.at->begin_step_fails_at = 1;
    ours.at->check_alive_fails_at = static_cast<int>(rng.below(3));
    double loss = 0;
    for (bool done = false; !done;) {
      const auto before = ours.program->extract(0);
      try {
        loss = step_once(*ours.program, batch, kHyper);
        done = true;
      } catch (const RankLost&) {
        ++lost;
        EXPECT_FALSE(ours.at->is_entered);
        EXPECT_TRUE(ours.program->extract(0) == before);
      }
    }
    EXPECT_EQ(loss, step_once(plain, batch, kHyper)) << i;
  }
  EXPECT_GT(lost, 3);
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
}

// A rank that waits for an idle one checks whether it is alive.
TEST_P(RemoteRanksTest, DoNotWaitForALostRank) {
  const Derived derived = derive(small_mlp());
  for (const std::size_t count : {2U, 3U, 5U}) {
    SeparateMemoryRun ours = of(derived, count, 3);
    const OwnedBatch batch = random_batch(derived, kMost, 1);
    ours.at->is_idle = true;
    ours.at->check_alive_fails_at = 3;
    EXPECT_THROW(step_once(*ours.program, batch, kHyper), RankLost) << count;
    ours.at->is_idle = false;
    Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(plain, batch, kHyper)) << count;
    EXPECT_EQ(ours.at->num_starts, 2);
  }
}

TEST_P(RemoteRanksTest, AddToExistingGradients) {
  const Derived derived = derive(small_mlp());
  const Stages stages = split_into_stages(derived.model, 3, kParts, 3);
  SeparateMemoryRun ours = of(derived, 3, 3);
  Program threads = compile(derived, options_of(&stages, Precision::kFloat32, kParts));
  auto seen = ours.program->make_gradients(), wanted = threads.make_gradients(), other = ours.program->make_gradients();
  ASSERT_TRUE(seen.ok() && wanted.ok() && other.ok());
  for (std::uint64_t i = 0; i < 3; ++i) {
    OwnedBatch batch = random_batch(derived, kMost, i);
    for (std::int64_t w = 0; w < kMost; ++w) batch.weights.push_back(static_cast<float>(w % 3));
    EXPECT_EQ(ours.program->gradients(0, batch.view(), 3 * kMost, kHyper, *seen, i > 0),
              threads.gradients(0, batch.view(), 3 * kMost, kHyper, *wanted, i > 0));
    EXPECT_TRUE(seen->extract() == wanted->extract()) << i;
    ours.program->gradients(0, random_batch(derived, kMost, 90).view(), kMost, kHyper, *other);  // in the same memory
  }
}

TEST_P(RemoteRanksTest, SendTheBatchToEveryRankThatReadsIt) {
  const Derived derived = derive(TestModel{"two",
                                           "%0 = input(shape=[6])\n%1 = linear(%0, out=5)\n%2 = linear(%0, out=5)\n"
                                           "%3 = add(%1, %2)\n%4 = linear(%3, out=5)\n%5 = output(%4)\n"});
  SeparateMemoryRun ours = of(derived, 4, 3);
  Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(plain, batch, kHyper));
  }
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
}

TEST_P(RemoteRanksTest, UpdateBuffersAsThreadsDo) {
  const Derived derived = derive(model_named("batch_norm"));
  ASSERT_FALSE(derived.train.renewed.empty());
  const Stages stages = split_into_stages(derived.model, 3, kParts);
  SeparateMemoryRun ours = of(derived, 3);
  Program threads = compile(derived, options_of(&stages, Precision::kFloat32, kParts));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const OwnedBatch batch = random_batch(derived, kMost, i);
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(threads, batch, kHyper));
  }
  EXPECT_TRUE(ours.program->extract(0) == threads.extract(0));
}

TEST_P(RemoteRanksTest, UseTheLaneAttributes) {
  const Derived derived = derive(kDropoutModel);
  SeparateMemoryRun ours = of(derived, 5);
  Program plain = compile(derived, options_of(nullptr, Precision::kFloat32, kParts));
  const std::vector<double> of_ours = lane_attr_values(ours.program->lane_attrs()),
                            of_plain = lane_attr_values(plain.lane_attrs());
  LaneHyper hyper = kHyper;
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  hyper.lane_attrs = of_ours;
  const double seen = step_once(*ours.program, batch, hyper);
  hyper.lane_attrs = of_plain;
  EXPECT_EQ(seen, step_once(plain, batch, hyper));
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
}

TEST(DistributedStagesTest, ProfileStepsLocally) {
  const Derived derived = derive(small_cnn());
  SeparateMemoryRun ours(derived, 3, kParts);
  std::size_t lines = 0;
  ours.program->profile_step(random_batch(derived, kMost, 1).view(), kHyper, [&] { ++lines; });
  EXPECT_EQ(lines, ours.program->plan().size());
  EXPECT_EQ(ours.at->num_starts, 0);
}

// In the memory of another rank, and in that of rank 0.
TEST_P(RemoteRanksTest, ReportExceptionsOfRemoteRanks) {
  const auto left = std::make_shared<std::atomic<int>>(-1);
  const Operators operators = with_throwing_operator(left);
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  for (const char* text : {"%0 = input(shape=[6])\n%1 = thrower(%0)\n%2 = linear(%1, out=6)\n%3 = linear(%2, out=6)\n"
                           "%4 = linear(%3, out=5)\n%5 = output(%4)\n",
                           "%0 = input(shape=[6])\n%1 = linear(%0, out=6)\n%2 = linear(%1, out=6)\n%3 = thrower(%2)\n"
                           "%4 = linear(%3, out=5)\n%5 = output(%4)\n"}) {
    const auto model = graph::parse(text);
    const Derived derived{*model, *autodiff::derive_training_step(*model, {}, ops),
                          *autodiff::derive_inference_step(*model, ops)};
    SeparateMemoryRun ours = of(derived, 2, 2, &operators);
    const OwnedBatch batch = random_batch(derived, kMost, 1);
    for (int calls = 0; calls < 4; ++calls) {
      const auto before = ours.program->extract(0);
      *left = calls;
      try {
        step_once(*ours.program, batch, kHyper);
        ADD_FAILURE() << "nothing was thrown after " << calls << " calls";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()), "no more");
      }
      EXPECT_TRUE(ours.program->extract(0) == before);
      *left = -1;
      step_once(*ours.program, batch, kHyper);
      EXPECT_FALSE(ours.program->extract(0) == before);
    }
  }
}

TEST(DistributedStagesTest, RejectOtherPrograms) {
  const Derived derived = derive(small_mlp());
  const auto member = [&](std::size_t count, std::int64_t parts) {
    Stages stages = split_into_stages(derived.model, count, parts);
    stages.remote_ranks = std::make_shared<ThreadRanks>(0, ThreadRanks::Make());
    return *StageWorker::compile(kernels::best_isa(), derived.train, derived.infer,
                                 options_of(&stages, Precision::kFloat32, parts));
  };
  const auto one = member(3, kParts);
  EXPECT_TRUE(member(3, kParts)->map().program == one->map().program);
  EXPECT_FALSE(member(2, kParts)->map().program == one->map().program);
  EXPECT_FALSE(member(3, 2)->map().program == one->map().program);
}

INSTANTIATE_TEST_SUITE_P(Ways, RemoteRanksTest, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "ByWord" : "ByMemory"; });

}  // namespace
}  // namespace lanista::program
