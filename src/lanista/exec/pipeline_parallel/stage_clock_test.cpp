// Steps in stages that are timed pass by pass: what is told of them, and that nothing else is another one.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "support/exec/program/allocation_counter.h"
#include "support/exec/pipeline_parallel/stages_support.h"

namespace lanista::nn {
namespace {

using namespace testing;

constexpr std::int64_t kMost = 16, kParts = 4;
constexpr int kEnough = 12;  // whole steps
const LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0.1};

ProgramOptions options_of(const Stages* stages) { return {.max_batch = kMost, .accumulate = kParts, .stages = stages}; }

/// A program whose places are threads, or as processes would be.
struct Timed {
  Timed(const Derived& derived, bool apart) : stages(in_stages(derived.model, 3, kParts, 2)) {
    if (apart) {
      stages.elsewhere =
          std::make_shared<ThreadPlaces>(stages.places.size() - 1, [&derived, theirs = stages]() mutable {
            theirs.elsewhere = std::make_shared<ThreadPlaces>(0, ThreadPlaces::Make());
            return *StageMember::compile(kernels::best_isa(), derived.train, derived.infer, options_of(&theirs));
          });
    }
    program = std::make_unique<Program>(compile(derived, options_of(&stages)));
  }
  Stages stages;
  std::unique_ptr<Program> program;
};

class StageClocks : public ::testing::TestWithParam<bool> {};

// Batches that are short are not timed; the others are after the first two, five times, and one of them is told.
TEST_P(StageClocks, TellOfAStepOnceAndChangeNoBit) {
  const Derived derived = derive(small_mlp(), "adam");
  Timed ours(derived, GetParam());
  Program plain = compile(derived, options_of(nullptr));
  std::optional<StepTimes> told;
  int whole = 0;
  for (std::uint64_t i = 0; i < 3 * kEnough; ++i) {
    const std::int64_t size = i % 3 == 2 ? 13 : kMost;
    whole += size == kMost ? 1 : 0;
    const OwnedBatch batch = random_batch(derived, size, i);
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(plain, batch, kHyper)) << i;
    auto times = ours.program->take_step_times();
    if (!times) continue;
    EXPECT_FALSE(told.has_value()) << "told again at step " << i;
    EXPECT_EQ(whole, 7);
    told = std::move(times);
  }
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
  EXPECT_FALSE(plain.take_step_times().has_value());
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->batch, kMost);
  EXPECT_TRUE(told->stages.places == ours.stages.places);
  EXPECT_EQ(told->stages.elsewhere, nullptr);
}

// Against the lists themselves: a place does one pass after the other, and none begins before what it reads has ended.
TEST_P(StageClocks, TellWhenPassesBeganAndEnded) {
  const Derived derived = derive(small_cnn(), "adam");
  Timed ours(derived, GetParam());
  std::optional<StepTimes> told;
  for (std::uint64_t i = 0; i < kEnough && !told; ++i) {
    step_once(*ours.program, random_batch(derived, kMost, i), kHyper);
    told = ours.program->take_step_times();
  }
  ASSERT_TRUE(told.has_value());
  ASSERT_EQ(told->places.size(), ours.stages.places.size());
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, double> ended;  // forward, stage, micro-batch
  double first = 1;
  for (std::size_t p = 0; p < told->places.size(); ++p) {
    ASSERT_EQ(told->places[p].size(), ours.stages.places[p].size());
    double now = 0;
    for (std::size_t i = 0; i < told->places[p].size(); ++i) {
      const PassTime& time = told->places[p][i];
      EXPECT_LE(now, time.begin);
      EXPECT_LT(time.begin, time.end);
      EXPECT_LT(time.end, 60);
      now = time.end;
      first = std::min(first, time.begin);
      const StagePass& pass = ours.stages.places[p][i];
      if (pass.kind != StagePass::Kind::kWeightGrad) {
        ended[{pass.kind == StagePass::Kind::kForward, pass.stage, pass.micro}] = time.end;
      }
    }
  }
  EXPECT_EQ(first, 0);
  for (std::size_t p = 0; p < told->places.size(); ++p) {
    for (std::size_t i = 0; i < told->places[p].size(); ++i) {
      const StagePass& pass = ours.stages.places[p][i];
      if (pass.kind == StagePass::Kind::kWeightGrad) continue;
      const bool forth = pass.kind == StagePass::Kind::kForward;
      for (std::uint32_t s = 0; s < ours.stages.stages.size(); ++s) {
        const auto& after = ours.stages.stages[forth ? s : pass.stage].after;
        if (std::ranges::count(after, forth ? pass.stage : s) == 0) continue;
        const double read = ended.at({forth, s, pass.micro});
        EXPECT_LE(read, told->places[p][i].begin) << pass.stage << " reads " << s;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, StageClocks, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "Apart" : "Threads"; });

TEST(StageClock, AsksForNoMemoryDuringSteps) {
  const Derived derived = derive(small_mlp());
  Timed ours(derived, false);
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  const auto steps = [&] {
    const AllocationCounter counter;
    for (int i = 0; i < kEnough; ++i) step_once(*ours.program, batch, kHyper);
    return counter.count();
  };
  if (!AllocationCounter::works()) GTEST_SKIP() << "the allocator is a sanitizer's";
  const std::int64_t timed = steps();
  EXPECT_EQ(steps(), timed);
}

// A step that ends in what a pass throws is not told of, and the next ones are.
TEST(StageClock, ForgetsStepsThatFailed) {
  const Derived derived = derive(small_mlp());
  Stages stages = in_stages(derived.model, 3, kParts, 2);
  const auto elsewhere =
      std::make_shared<ThreadPlaces>(stages.places.size() - 1, [&derived, theirs = stages]() mutable {
        theirs.elsewhere = std::make_shared<ThreadPlaces>(0, ThreadPlaces::Make());
        return *StageMember::compile(kernels::best_isa(), derived.train, derived.infer, options_of(&theirs));
      });
  stages.elsewhere = elsewhere;
  Program program = compile(derived, options_of(&stages));
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  std::optional<StepTimes> told;
  int done = 0;
  for (int i = 0; i < 3 * kEnough && !told; ++i) {
    const bool fails = i % 2 == 1;
    if (fails) {
      EXPECT_THROW(elsewhere->lose(), PlacesLost);
    }
    elsewhere->is_idle = fails;  // of who begins next
    elsewhere->fails_at_look = fails ? 1 : 0;
    if (fails) {
      EXPECT_THROW(step_once(program, batch, kHyper), PlacesLost);
    } else {
      step_once(program, batch, kHyper);
      ++done;
    }
    told = program.take_step_times();
  }
  ASSERT_TRUE(told.has_value());
  EXPECT_GE(done, 5);
  for (const auto& place : told->places) {
    for (const PassTime& time : place) {
      EXPECT_LT(time.begin, time.end);
      EXPECT_LT(time.end, 60);
    }
  }
}

}  // namespace
}  // namespace lanista::nn
