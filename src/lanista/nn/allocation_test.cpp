#include "lanista/nn/allocation_counter.h"

#include <gtest/gtest.h>

#include "lanista/nn/test_models.h"

namespace lanista::nn {
namespace {

using namespace testing;

TEST(Program, AllocatesNothingWhenItRuns) {
  for (const TestModel& model : operator_models()) {
    for (const auto precision : {Precision::kFloat32, Precision::kFloat64}) {
      const Derived derived = derive(model, step::Optimizer::kAdam);
      Program program = compile(derived, {.max_batch = 8, .precision = precision});
      program.initialise(0, 1);
      const OwnedBatch batch = random_batch(derived, 8, 2);
      std::vector<float> prediction(static_cast<std::size_t>(8 * program.prediction_size()));
      const LaneHyper hyper{.clip_norm = 1, .label_smoothing = 0.1};

      std::int64_t count = 0;
      {
        const AllocationCounter counter;
        step_once(program, batch, hyper);
        program.predict(0, batch.view(), prediction);
        count = counter.count();
      }

      EXPECT_EQ(count, 0) << model.name;
    }
  }
}

TEST(AllocationCounter, Counts) {
  const AllocationCounter counter;
  const std::vector<int> some(100);
  const std::int64_t count = counter.count();

  EXPECT_EQ(count, 1);
  EXPECT_EQ(some[99], 0);
}

}  // namespace
}  // namespace lanista::nn
