#include "lanista/plan/sharing/cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "lanista/plan/sharing/plan.h"
#include "support/plan/sharing/test_models.h"

namespace lanista::sharing {
namespace {

using testing::member;
using testing::mlp;

/// A microsecond for 1000 FLOPs or 1000 bytes, and two for a call.
const plan::CostPrices kPrices{.gflops = 1, .gb_per_second = 1, .call_us = 2};
const plan::CostKey kMachine{.work = "", .lanes = 1, .cpu = "cpu", .threads = 1, .version = "1"};

OperatorWork linear() {
  graph::Node node;
  node.op = "linear";
  node.attrs.set("out", std::int64_t{4});
  return {.operation = std::make_shared<const graph::Node>(node),
          .inputs = {{{{graph::kBatch, 8}}, graph::DType::kReal}},
          .batch = 32,
          .weight_grad = true,
          .launches = 2,
          .flops = 3000,
          .in_bytes = 1000,
          .other_bytes = 500};
}

plan::CostTable table(std::int64_t lanes, double us) {
  plan::CostTable rows;
  plan::CostKey key = kMachine;
  key.work = work_text(linear());
  key.lanes = lanes;
  rows.put(key, {.microseconds = us, .flops = 0, .bytes = 0, .samples = 1});
  return rows;
}

/// Returns the microseconds of linear() with this many lanes.
double us_of(const plan::Costs& costs, std::size_t lanes) {
  const OperatorWork work = linear();
  std::vector<OperatorWork> works(lanes, work);
  std::vector<const OperatorWork*> all;
  for (const OperatorWork& each : works) all.push_back(&each);
  return op_us(costs, all);
}

TEST(OperatorCost, NamesEverythingThatDecidesTheTime) {
  OperatorWork work = linear();
  EXPECT_EQ(work_text(work), "linear(out=4) of [N, 8] batch 32 with weight_grad");
  work.input_grad = true;
  work.inputs.push_back({{{graph::kBatch}}, graph::DType::kIndex});
  EXPECT_EQ(work_text(work), "linear(out=4) of [N, 8], [N] index batch 32 with weight_grad, input_grad");
}

TEST(OperatorCost, UsesTheMachineRatesWithoutMeasurements) {
  const plan::Costs costs{{}, kMachine, kPrices};
  EXPECT_DOUBLE_EQ(us_of(costs, 1), 2 * 2 + 3 + 1.5);
  EXPECT_DOUBLE_EQ(us_of(costs, 3), 3 * (2 * 2 + 3 + 1.5)) << "lanes run one after another";
}

TEST(OperatorCost, PrefersRowsWithTheSameNumberOfLanes) {
  EXPECT_DOUBLE_EQ(us_of({table(1, 5), kMachine, kPrices}, 3), 15);
  plan::CostTable rows = table(1, 5);
  rows.merge(table(3, 4));
  EXPECT_DOUBLE_EQ(us_of({rows, kMachine, kPrices}, 3), 12);
  EXPECT_DOUBLE_EQ(us_of({rows, kMachine, kPrices}, 2), 10);
}

TEST(OperatorCost, SkipsRowsOfOtherMachines) {
  plan::CostKey other = kMachine;
  other.cpu = "another";
  EXPECT_DOUBLE_EQ(us_of({table(1, 5), other, kPrices}, 1), 8.5);
}

TEST(OperatorCost, AddsTheTimeOfDataSteps) {
  OperatorWork read;
  graph::Node node;
  node.op = "read";
  read.operation = std::make_shared<const graph::Node>(node);
  read.host_us = 7;
  const OperatorWork* lane = &read;
  EXPECT_DOUBLE_EQ(op_us({{}, kMachine, kPrices}, {&lane, 1}), 7);
}

TEST(OperatorCost, LetsAGroupSaveOnlySharedWork) {
  const FusionPlan plan = testing::planned({member(1, mlp()), member(2, mlp()), member(3, mlp())},
                                           testing::one_program(3), {{}, kMachine, kPrices});

  // Reading and normalising need 10 us a sample, and run once instead of three times.
  EXPECT_NEAR(plan.alone_us - plan.us(), 2 * 10 * 32, 1e-6);
}

TEST(OperatorCost, AddsCopiesOfInputsFromSeveralOperators) {
  std::vector<FusionMember> members{member(1, mlp()), member(2, mlp())};
  for (std::uint64_t i = 0; i < 2; ++i) members[i].frozen[graph::NodeId{1}] = Digest{i, 1};  // Not one prefix.
  const FusionPlan plan = testing::planned(members, testing::one_program(2), {{}, kMachine, kPrices});

  const double bytes = 2 * 16 * 32 * 4;  // Each is read and written.
  EXPECT_NEAR(plan.us(), plan.alone_us - 10 * 32 + 2 * bytes / 1000, 1e-6);
}

}  // namespace
}  // namespace lanista::sharing
