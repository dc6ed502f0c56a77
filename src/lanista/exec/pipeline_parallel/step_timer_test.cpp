// Times of the passes of a step in stages: what is returned, and that results do not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "support/exec/pipeline_parallel/stage_test_support.h"
#include "support/exec/program/allocation_counter.h"

namespace lanista::program {
namespace {

using namespace testing;

constexpr std::int64_t kMost = 16, kParts = 4;
constexpr int kEnough = 12;  // whole steps
const LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0.1};

ProgramOptions options_of(const Stages* stages) { return {.max_batch = kMost, .accumulate = kParts, .stages = stages}; }

/// A program with threads as ranks, or with ranks like processes.
struct Timed {
  Timed(const Derived& derived, bool has_separate_memory) : stages(split_into_stages(derived.model, 3, kParts, 2)) {
    if (has_separate_memory) {
      stages.remote_ranks =
          std::make_shared<ThreadRanks>(stages.ranks.size() - 1, [&derived, theirs = stages]() mutable {
            theirs.remote_ranks = std::make_shared<ThreadRanks>(0, ThreadRanks::Make());
            return *StageWorker::compile(kernels::best_isa(), derived.train, derived.infer, options_of(&theirs));
          });
    }
    program = std::make_unique<Program>(compile(derived, options_of(&stages)));
  }
  Stages stages;
  std::unique_ptr<Program> program;
};

class StepTimers : public ::testing::TestWithParam<bool> {};

// Short batches are not timed. After two whole steps, five are timed, and one of them is returned.
TEST_P(StepTimers, ReportOneStepAndChangeNoBit) {
  const Derived derived = derive(small_mlp(), "adam");
  Timed ours(derived, GetParam());
  Program plain = compile(derived, options_of(nullptr));
  std::optional<StepTimes> step_times;
  int whole = 0;
  for (std::uint64_t i = 0; i < 3 * kEnough; ++i) {
    const std::int64_t size = i % 3 == 2 ? 13 : kMost;
    whole += size == kMost ? 1 : 0;
    const OwnedBatch batch = random_batch(derived, size, i);
    EXPECT_EQ(step_once(*ours.program, batch, kHyper), step_once(plain, batch, kHyper)) << i;
    auto times = ours.program->take_step_times();
    if (!times) continue;
    EXPECT_FALSE(step_times.has_value()) << "returned again at step " << i;
    EXPECT_EQ(whole, 7);
    step_times = std::move(times);
  }
  EXPECT_TRUE(ours.program->extract(0) == plain.extract(0));
  EXPECT_FALSE(plain.take_step_times().has_value());
  ASSERT_TRUE(step_times.has_value());
  EXPECT_EQ(step_times->batch, kMost);
  EXPECT_TRUE(step_times->stages.ranks == ours.stages.ranks);
  EXPECT_EQ(step_times->stages.remote_ranks, nullptr);
}

// Checks the lists directly: a rank runs one pass after the other, and no pass begins before its inputs are complete.
TEST_P(StepTimers, RecordPassBeginAndEnd) {
  const Derived derived = derive(small_cnn(), "adam");
  Timed ours(derived, GetParam());
  std::optional<StepTimes> step_times;
  for (std::uint64_t i = 0; i < kEnough && !step_times; ++i) {
    step_once(*ours.program, random_batch(derived, kMost, i), kHyper);
    step_times = ours.program->take_step_times();
  }
  ASSERT_TRUE(step_times.has_value());
  ASSERT_EQ(step_times->ranks.size(), ours.stages.ranks.size());
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, double> ended;  // forward, stage, micro-batch
  double first = 1;
  for (std::size_t p = 0; p < step_times->ranks.size(); ++p) {
    ASSERT_EQ(step_times->ranks[p].size(), ours.stages.ranks[p].size());
    double now = 0;
    for (std::size_t i = 0; i < step_times->ranks[p].size(); ++i) {
      const PassTime& time = step_times->ranks[p][i];
      EXPECT_LE(now, time.begin);
      EXPECT_LT(time.begin, time.end);
      EXPECT_LT(time.end, 60);
      now = time.end;
      first = std::min(first, time.begin);
      const StagePass& pass = ours.stages.ranks[p][i];
      if (pass.kind != StagePass::Kind::kWeightGrad) {
        ended[{pass.kind == StagePass::Kind::kForward, pass.stage, pass.micro}] = time.end;
      }
    }
  }
  EXPECT_EQ(first, 0);
  for (std::size_t p = 0; p < step_times->ranks.size(); ++p) {
    for (std::size_t i = 0; i < step_times->ranks[p].size(); ++i) {
      const StagePass& pass = ours.stages.ranks[p][i];
      if (pass.kind == StagePass::Kind::kWeightGrad) continue;
      const bool is_forward = pass.kind == StagePass::Kind::kForward;
      for (std::uint32_t s = 0; s < ours.stages.stages.size(); ++s) {
        const auto& after = ours.stages.stages[is_forward ? s : pass.stage].successors;
        if (std::ranges::count(after, is_forward ? pass.stage : s) == 0) continue;
        const double read = ended.at({is_forward, s, pass.micro});
        EXPECT_LE(read, step_times->ranks[p][i].begin) << pass.stage << " reads " << s;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, StepTimers, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "Apart" : "Threads"; });

TEST(StepTimer, AllocatesNothingDuringSteps) {
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

// A step that ends with an exception is not returned; the next ones are.
TEST(StepTimer, IgnoresFailedSteps) {
  const Derived derived = derive(small_mlp());
  Stages stages = split_into_stages(derived.model, 3, kParts, 2);
  const auto remote_ranks =
      std::make_shared<ThreadRanks>(stages.ranks.size() - 1, [&derived, theirs = stages]() mutable {
        theirs.remote_ranks = std::make_shared<ThreadRanks>(0, ThreadRanks::Make());
        return *StageWorker::compile(kernels::best_isa(), derived.train, derived.infer, options_of(&theirs));
      });
  stages.remote_ranks = remote_ranks;
  Program program = compile(derived, options_of(&stages));
  const OwnedBatch batch = random_batch(derived, kMost, 1);
  std::optional<StepTimes> step_times;
  int done = 0;
  for (int i = 0; i < 3 * kEnough && !step_times; ++i) {
    const bool fails = i % 2 == 1;
    if (fails) {
      EXPECT_THROW(remote_ranks->lose_rank(), RankLost);
    }
    remote_ranks->is_idle = fails;  // in the next step
    remote_ranks->check_alive_fails_at = fails ? 1 : 0;
    if (fails) {
      EXPECT_THROW(step_once(program, batch, kHyper), RankLost);
    } else {
      step_once(program, batch, kHyper);
      ++done;
    }
    step_times = program.take_step_times();
  }
  ASSERT_TRUE(step_times.has_value());
  EXPECT_GE(done, 5);
  for (const auto& rank : step_times->ranks) {
    for (const PassTime& time : rank) {
      EXPECT_LT(time.begin, time.end);
      EXPECT_LT(time.end, 60);
    }
  }
}

}  // namespace
}  // namespace lanista::program
