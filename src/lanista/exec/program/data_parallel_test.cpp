// Steps with shards on several programs have the bits of one program.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/program/batch_split.h"
#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/pipeline_parallel/thread_communicator.h"
#include "support/exec/program/allocation_counter.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

constexpr std::int64_t kMaxBatchSize = 13;
// Batches with fewer samples than shards, and sizes that do not divide evenly.
constexpr std::int64_t kBatchSizes[] = {13, 12, 7, 1, 5, 2, 13, 3, 9, 4};
constexpr std::int64_t kNumSteps = 20;
const LaneHyper kHyper{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .clip_norm = 0.7, .label_smoothing = 0.1};

struct DataParallelResult {
  std::vector<Tensor> state;
  double loss_sum = 0;
  std::int64_t steps = 0;
};

// All steps of a fresh lane in one chunk, alone or as one of several.
DataParallelResult train_rank(const Derived& derived, Program& program, std::int64_t lane,
                              ShardCommunicator* communicator) {
  const kernels::FlushToZero as_workers;
  program.initialise(lane, 3);
  const auto lanes = static_cast<std::size_t>(program.lanes());
  std::vector<std::uint8_t> active(lanes, 0);
  active[static_cast<std::size_t>(lane)] = 1;
  const std::vector<LaneHyper> hyper(lanes, kHyper);
  std::vector<LaneResult> results(lanes);
  OwnedBatch owned;
  Batch batch;
  program.run({.steps = kNumSteps,
               .active = active,
               .step_input =
                   [&](std::int64_t step) {
                     const auto i = static_cast<std::size_t>(step);
                     owned = random_batch(derived, kBatchSizes[i % std::size(kBatchSizes)], 10 + i);
                     batch = owned.view();
                     return StepInput{{&batch, 1}, hyper};
                   },
               .communicator = communicator},
              results);
  const LaneResult& end = results[static_cast<std::size_t>(lane)];
  if (end.failure) std::rethrow_exception(end.failure);
  return {program.extract(lane), end.loss_sum, end.steps};
}

std::vector<DataParallelResult> train_all_ranks(const Derived& derived, const ProgramOptions& options,
                                                std::int64_t width) {
  std::vector<Program> programs;
  for (std::int64_t rank = 0; rank < width; ++rank) programs.push_back(compile(derived, options));
  const BatchSplit cut{options.shards, options.accumulate};
  std::int64_t num_accumulators = 1;
  for (std::int64_t rank = 0; rank < width; ++rank) {
    num_accumulators = std::max(num_accumulators, cut.shards_of_rank(kMaxBatchSize, width, rank).num_accumulators());
  }
  ThreadCommunicators communicator(width, num_accumulators * programs[0].shard_bytes());
  std::vector<DataParallelResult> results(static_cast<std::size_t>(width));
  {
    std::vector<std::jthread> threads;
    for (std::int64_t rank = 0; rank < width; ++rank) {
      threads.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        results[i] = train_rank(derived, programs[i], programs[i].lanes() - 1, &communicator[rank]);
      });
    }
  }
  return results;
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

class DataParallel : public ::testing::TestWithParam<TestModel> {};

TEST_P(DataParallel, EqualOneProgramToTheBit) {
  const std::vector<std::string> optimizers = autodiff::optimizer_names();
  std::size_t turn = 0;
  for (const std::int64_t shards : {2, 3, 4}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      const Derived derived = derive(GetParam(), optimizers[turn++ % optimizers.size()]);
      const ProgramOptions options{.lanes = 1 + shards % 2,
                                   .max_batch = kMaxBatchSize,
                                   .shards = shards,
                                   .accumulate = 1 + shards % 3,
                                   .precision = precision};
      Program single = compile(derived, options);
      const DataParallelResult alone = train_rank(derived, single, 0, nullptr);
      ASSERT_EQ(alone.steps, kNumSteps);
      for (std::int64_t width = 2; width <= shards; ++width) {
        const std::vector<DataParallelResult> together = train_all_ranks(derived, options, width);
        for (const DataParallelResult& each : together) {
          EXPECT_EQ(each.steps, kNumSteps);
          EXPECT_TRUE(same_bits(each.loss_sum, alone.loss_sum)) << shards << " shards, width " << width;
          EXPECT_TRUE(each.state == alone.state) << shards << " shards, width " << width;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, DataParallel, ::testing::ValuesIn(operator_models()),
                         [](const auto& model) { return model.param.name; });

// Every optimiser, independent of the models above.
TEST(DataParallelOptimisers, EqualOneProgramToTheBitForAll) {
  for (const std::string& optimizer : autodiff::optimizer_names()) {
    for (const TestModel& model : {small_mlp(), model_named("batch_norm_image")}) {
      const Derived derived = derive(model, optimizer);
      const ProgramOptions options{.max_batch = kMaxBatchSize, .shards = 3};
      Program single = compile(derived, options);
      const DataParallelResult alone = train_rank(derived, single, 0, nullptr);
      for (const DataParallelResult& each : train_all_ranks(derived, options, 2)) {
        EXPECT_TRUE(each.state == alone.state) << optimizer << " " << model.name;
      }
    }
  }
}

// Peers that never arrive.
class LostCommunicator final : public ShardCommunicator {
 public:
  explicit LostCommunicator(std::int64_t bytes) : ShardCommunicator(0, 2), workspace_(bytes) {}
  std::byte* send_buffer() override { return workspace_.data(); }
  void all_gather() override { throw PeerLost("no rank is here"); }
  const std::byte* received_from(std::int64_t) const override { return workspace_.data(); }

 private:
  AlignedBytes workspace_;
};

TEST(DataParallelSteps, KeepTheLaneStateWhenAPeerIsLost) {
  for (const TestModel& model : {small_cnn(), model_named("batch_norm_image")}) {
    const Derived derived = derive(model, "adam");
    Program program = compile(derived, {.max_batch = kMaxBatchSize, .shards = 2});
    program.initialise(0, 3);
    const OwnedBatch owned = random_batch(derived, kMaxBatchSize, 1);
    step_once(program, owned, kHyper);
    const auto before = program.extract(0);
    const Batch batch = owned.view();
    const std::uint8_t active = 1;
    LaneResult end;
    LostCommunicator gone(program.shard_bytes());
    program.run({.steps = 2,
                 .active = {&active, 1},
                 .step_input =
                     [&](std::int64_t) {
                       return StepInput{{&batch, 1}, {&kHyper, 1}};
                     },
                 .communicator = &gone},
                {&end, 1});
    EXPECT_TRUE(end.failure);
    EXPECT_EQ(end.steps, 0);
    EXPECT_TRUE(program.extract(0) == before) << model.name;
  }
}

TEST(DataParallelSteps, RejectSeveralLanesOrMoreRanksThanShards) {
  const Derived derived = derive(small_mlp());
  LostCommunicator gone(1 << 20);
  for (const auto& [lanes, shards] : {std::pair(2, 2), std::pair(1, 1)}) {
    Program program = compile(derived, {.lanes = lanes, .max_batch = kMaxBatchSize, .shards = shards});
    const std::vector<std::uint8_t> active(static_cast<std::size_t>(lanes), 1);
    std::vector<LaneResult> results(static_cast<std::size_t>(lanes));
    EXPECT_ANY_THROW(program.run({.steps = 0, .active = active, .step_input = {}, .communicator = &gone}, results));
  }
}

TEST(BatchSplit, AssignsShardsToRanksInOrder) {
  for (std::int64_t shards = 2; shards <= 9; ++shards) {
    for (std::int64_t n = 1; n <= 12; ++n) {
      const BatchSplit cut{shards, 1};
      for (std::int64_t width = 1; width <= cut.num_used_shards(n); ++width) {
        std::int64_t next = 0;
        for (std::int64_t rank = 0; rank < width; ++rank) {
          const ShardRange range = cut.shards_of_rank(n, width, rank);
          EXPECT_EQ(range.begin, next);
          EXPECT_GE(range.end - range.begin, cut.num_used_shards(n) / width);
          EXPECT_LE(range.end - range.begin, cut.num_used_shards(n) / width + 1);
          next = range.end;
        }
        EXPECT_EQ(next, cut.num_used_shards(n));
      }
    }
  }
}

}  // namespace
}  // namespace lanista::program
