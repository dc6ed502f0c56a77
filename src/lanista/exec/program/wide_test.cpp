// A step whose shards several programs compute: the bits of one program alone.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "support/exec/program/allocation_counter.h"
#include "lanista/exec/program/cut.h"
#include "support/exec/program/test_models.h"
#include "support/exec/pipeline_parallel/thread_peers.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::nn {
namespace {

using namespace testing;

constexpr std::int64_t kWideMost = 13;
// Batches with fewer samples than shards, and such that do not divide.
constexpr std::int64_t kWideSizes[] = {13, 12, 7, 1, 5, 2, 13, 3, 9, 4};
constexpr std::int64_t kWideSteps = 20;
const LaneHyper kWideHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0.1};

struct WideEnd {
  std::vector<Tensor> state;
  double loss_sum = 0;
  std::int64_t steps = 0;
};

// All steps of a fresh lane in one chunk, alone or as one of several.
WideEnd train_wide(const Derived& derived, Program& program, std::int64_t lane, ShardPeers* peers) {
  const kernels::FlushToZero as_workers;
  program.initialise(lane, 3);
  const auto lanes = static_cast<std::size_t>(program.lanes());
  std::vector<std::uint8_t> active(lanes, 0);
  active[static_cast<std::size_t>(lane)] = 1;
  const std::vector<LaneHyper> hyper(lanes, kWideHyper);
  std::vector<LaneEnd> ends(lanes);
  OwnedBatch owned;
  Batch batch;
  program.run({.steps = kWideSteps,
               .active = active,
               .work =
                   [&](std::int64_t step) {
                     const auto i = static_cast<std::size_t>(step);
                     owned = random_batch(derived, kWideSizes[i % std::size(kWideSizes)], 10 + i);
                     batch = owned.view();
                     return StepWork{{&batch, 1}, hyper};
                   },
               .peers = peers},
              ends);
  const LaneEnd& end = ends[static_cast<std::size_t>(lane)];
  if (end.failure) std::rethrow_exception(end.failure);
  return {program.extract(lane), end.loss_sum, end.steps};
}

std::vector<WideEnd> train_together(const Derived& derived, const ProgramOptions& options, std::int64_t width) {
  std::vector<Program> programs;
  for (std::int64_t rank = 0; rank < width; ++rank) programs.push_back(compile(derived, options));
  const Cut cut{options.shards, options.accumulate};
  std::int64_t places = 1;
  for (std::int64_t rank = 0; rank < width; ++rank) {
    places = std::max(places, cut.share(kWideMost, width, rank).places());
  }
  ThreadPeers peers(width, places * programs[0].shard_bytes());
  std::vector<WideEnd> ends(static_cast<std::size_t>(width));
  {
    std::vector<std::jthread> threads;
    for (std::int64_t rank = 0; rank < width; ++rank) {
      threads.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        ends[i] = train_wide(derived, programs[i], programs[i].lanes() - 1, &peers[rank]);
      });
    }
  }
  return ends;
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

class Wide : public ::testing::TestWithParam<TestModel> {};

TEST_P(Wide, StepsHaveTheBitsOfOneProgramAlone) {
  const std::vector<std::string> optimizers = step::optimizer_names();
  std::size_t turn = 0;
  for (const std::int64_t shards : {2, 3, 4}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      const Derived derived = derive(GetParam(), optimizers[turn++ % optimizers.size()]);
      const ProgramOptions options{.lanes = 1 + shards % 2,
                                   .max_batch = kWideMost,
                                   .shards = shards,
                                   .accumulate = 1 + shards % 3,
                                   .precision = precision};
      Program single = compile(derived, options);
      const WideEnd alone = train_wide(derived, single, 0, nullptr);
      ASSERT_EQ(alone.steps, kWideSteps);
      for (std::int64_t width = 2; width <= shards; ++width) {
        const std::vector<WideEnd> together = train_together(derived, options, width);
        for (const WideEnd& each : together) {
          EXPECT_EQ(each.steps, kWideSteps);
          EXPECT_TRUE(same_bits(each.loss_sum, alone.loss_sum)) << shards << " shards, width " << width;
          EXPECT_TRUE(each.state == alone.state) << shards << " shards, width " << width;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Wide, ::testing::ValuesIn(operator_models()),
                         [](const auto& model) { return model.param.name; });

// Every optimiser, whichever fell to the models above.
TEST(WideOptimisers, AllHaveTheBitsOfOneProgramAlone) {
  for (const std::string& optimizer : step::optimizer_names()) {
    for (const TestModel& model : {small_mlp(), model_named("batch_norm_image")}) {
      const Derived derived = derive(model, optimizer);
      const ProgramOptions options{.max_batch = kWideMost, .shards = 3};
      Program single = compile(derived, options);
      const WideEnd alone = train_wide(derived, single, 0, nullptr);
      for (const WideEnd& each : train_together(derived, options, 2)) {
        EXPECT_TRUE(each.state == alone.state) << optimizer << " " << model.name;
      }
    }
  }
}

// Peers that never come.
class Gone final : public ShardPeers {
 public:
  explicit Gone(std::int64_t bytes) : ShardPeers(0, 2), desk_(bytes) {}
  std::byte* mine() override { return desk_.data(); }
  void meet() override { throw PeersLost("nobody is here"); }
  const std::byte* told(std::int64_t) const override { return desk_.data(); }

 private:
  AlignedBytes desk_;
};

TEST(WideSteps, WithoutPeersLeaveTheLaneAsItWas) {
  for (const TestModel& model : {small_cnn(), model_named("batch_norm_image")}) {
    const Derived derived = derive(model, "adam");
    Program program = compile(derived, {.max_batch = kWideMost, .shards = 2});
    program.initialise(0, 3);
    const OwnedBatch owned = random_batch(derived, kWideMost, 1);
    step_once(program, owned, kWideHyper);
    const auto before = program.extract(0);
    const Batch batch = owned.view();
    const std::uint8_t active = 1;
    LaneEnd end;
    Gone gone(program.shard_bytes());
    program.run({.steps = 2,
                 .active = {&active, 1},
                 .work = [&](std::int64_t) { return StepWork{{&batch, 1}, {&kWideHyper, 1}}; },
                 .peers = &gone},
                {&end, 1});
    EXPECT_TRUE(end.failure);
    EXPECT_EQ(end.steps, 0);
    EXPECT_TRUE(program.extract(0) == before) << model.name;
  }
}

TEST(WideSteps, RefuseSeveralLanesAndMoreRanksThanShards) {
  const Derived derived = derive(small_mlp());
  Gone gone(1 << 20);
  for (const auto& [lanes, shards] : {std::pair(2, 2), std::pair(1, 1)}) {
    Program program = compile(derived, {.lanes = lanes, .max_batch = kWideMost, .shards = shards});
    const std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 1);
    std::vector<LaneEnd> ends(static_cast<std::size_t>(lanes));
    EXPECT_ANY_THROW(program.run({.steps = 0, .active = active, .work = {}, .peers = &gone}, ends));
  }
}

TEST(Cut, DealsShardsToRanksInTheirOrder) {
  for (std::int64_t shards = 2; shards <= 9; ++shards) {
    for (std::int64_t n = 1; n <= 12; ++n) {
      const Cut cut{shards, 1};
      for (std::int64_t width = 1; width <= cut.used(n); ++width) {
        std::int64_t next = 0;
        for (std::int64_t rank = 0; rank < width; ++rank) {
          const ShardRange range = cut.share(n, width, rank);
          EXPECT_EQ(range.begin, next);
          EXPECT_GE(range.end - range.begin, cut.used(n) / width);
          EXPECT_LE(range.end - range.begin, cut.used(n) / width + 1);
          next = range.end;
        }
        EXPECT_EQ(next, cut.used(n));
      }
    }
  }
}

}  // namespace
}  // namespace lanista::nn
