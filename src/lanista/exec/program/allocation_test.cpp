#include "support/exec/program/allocation_counter.h"

#include <gtest/gtest.h>

#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

class NoAllocation : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!AllocationCounter::works()) GTEST_SKIP() << "a sanitizer has the allocator";
  }
};

/// Allocations of two steps and a prediction, after construction.
std::int64_t allocations_of(const Derived& derived, const ProgramOptions& options) {
  Program program = compile(derived, options);
  const auto lanes = static_cast<std::size_t>(options.lanes);
  for (std::int64_t lane = 0; lane < options.lanes; ++lane) program.initialise(lane, 1);
  const OwnedBatch batch = random_batch(derived, 8, 2);
  const Batch view = batch.view();
  std::vector<float> prediction(static_cast<std::size_t>(8 * program.prediction_size()));
  const std::vector<LaneHyper> hyper(lanes, LaneHyper{.clip_norm = 1, .label_smoothing = 0.1});
  const std::vector<std::uint8_t> active(lanes, 1);
  std::vector<double> loss(lanes);

  const AllocationCounter counter;
  for (int step = 0; step < 2; ++step) program.train_step({&view, 1}, hyper, active, loss);
  program.predict(0, view, prediction);
  return counter.count();
}

TEST_F(NoAllocation, AllocatesNothingInAStep) {
  for (const TestModel& model : operator_models()) {
    for (const auto precision : {Precision::kFloat32, Precision::kFloat64}) {
      EXPECT_EQ(allocations_of(derive(model, "adam"), {.max_batch = 8, .precision = precision}), 0) << model.name;
    }
  }
}

TEST_F(NoAllocation, AllocatesNothingWithLanesOnThreads) {
  for (const TestModel& model : {small_mlp(), small_cnn()}) {
    EXPECT_EQ(allocations_of(derive(model), {.lanes = 5, .max_batch = 8, .threads = 3}), 0) << model.name;
  }
}

TEST_F(NoAllocation, CounterSeesAllocations) {
  const AllocationCounter counter;
  const std::vector<int> some(100);
  const std::int64_t count = counter.count();

  EXPECT_EQ(count, 1);
  EXPECT_EQ(some[99], 0);
}

}  // namespace
}  // namespace lanista::program
