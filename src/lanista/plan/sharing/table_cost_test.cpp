#include "lanista/plan/sharing/table_cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "lanista/plan/sharing/plan.h"
#include "support/plan/sharing/test_models.h"

namespace lanista::fuse {
namespace {

using testing::member;
using testing::mlp;

/// A thousand operations, or bytes, take a microsecond; a call takes two.
const MachinePrices kPrices{.calls = {.gflops = 1, .gb_per_second = 1, .call_us = 2}, .memory_gb_per_second = 0.5};
const graph::CostKey kMachine{.work = "", .lanes = 1, .cpu = "cpu", .threads = 1, .version = "1"};

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

graph::CostTable table(std::int64_t lanes, double us) {
  graph::CostTable rows;
  graph::CostKey key = kMachine;
  key.work = work_text(linear());
  key.lanes = lanes;
  rows.put(key, {.microseconds = us, .flops = 0, .bytes = 0, .samples = 1});
  return rows;
}

double us_of(const TableCost& cost, std::size_t lanes, OpForm form = OpForm::kBatched) {
  const OperatorWork work = linear();
  std::vector<OperatorWork> works(lanes, work);
  std::vector<const OperatorWork*> all;
  for (const OperatorWork& each : works) all.push_back(&each);
  return cost.op_us(all, form);
}

TEST(TableCost, NamesAllThatDecidesTheTime) {
  OperatorWork work = linear();
  EXPECT_EQ(work_text(work), "linear(out=4) of [N, 8] batch 32 with weight_grad");
  work.input_grad = true;
  work.inputs.push_back({{{graph::kBatch}}, graph::DType::kIndex});
  EXPECT_EQ(work_text(work), "linear(out=4) of [N, 8], [N] index batch 32 with weight_grad, input_grad");
}

TEST(TableCost, UsesTheMachineRatesWithoutMeasurements) {
  const TableCost cost({}, kMachine, kPrices);
  EXPECT_DOUBLE_EQ(us_of(cost, 1), 2 * 2 + 3 + 1.5);
  EXPECT_DOUBLE_EQ(us_of(cost, 3), 3 * (2 * 2 + 3 + 1.5)) << "lanes take turns";
  EXPECT_DOUBLE_EQ(us_of(cost, 3, OpForm::kFanOut), 3 * (2 * 2 + 3 + 1.5) - 2 * 1) << "one tensor is read once";
}

TEST(TableCost, PrefersWhatWasMeasuredWithAsManyLanes) {
  EXPECT_DOUBLE_EQ(us_of(TableCost(table(1, 5), kMachine, kPrices), 3), 15);
  graph::CostTable rows = table(1, 5);
  rows.merge(table(3, 4));
  EXPECT_DOUBLE_EQ(us_of(TableCost(rows, kMachine, kPrices), 3), 12);
  EXPECT_DOUBLE_EQ(us_of(TableCost(rows, kMachine, kPrices), 2), 10);
}

TEST(TableCost, SkipsRowsOfOtherMachines) {
  graph::CostKey other = kMachine;
  other.cpu = "another";
  EXPECT_DOUBLE_EQ(us_of(TableCost(table(1, 5), other, kPrices), 1), 8.5);
}

TEST(TableCost, PricesDataStepsAndTheCache) {
  const TableCost cost({}, kMachine, kPrices);
  OperatorWork read;
  graph::Node node;
  node.op = "read";
  read.operation = std::make_shared<const graph::Node>(node);
  read.host_us = 7;
  const OperatorWork* lane = &read;
  EXPECT_DOUBLE_EQ(cost.op_us({&lane, 1}, OpForm::kAlone), 7);
  EXPECT_DOUBLE_EQ(cost.copy_us(1000), 2);
  EXPECT_DOUBLE_EQ(cost.store_us(1000), 2);
  EXPECT_DOUBLE_EQ(cost.load_us(1000), 2);
}

TEST(TableCost, LetsAPlanSaveExactlyWhatIsShared) {
  const PlanOptions options{.limits = {.min_gain = 0}, .off = {"fan_out", "batch", "materialize"}};
  const auto plan = make_plan({member(1, mlp()), member(2, mlp()), member(3, mlp(24))}, graph::builtin_ops(),
                              TableCost({}, kMachine, kPrices), options);

  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->groups.size(), 1U);
  EXPECT_EQ(plan->groups[0].form(), GroupForm::kPacked);
  // Reading and normalising take ten microseconds a sample, and happen once instead of three times.
  EXPECT_NEAR(plan->alone_us - plan->us(), 2 * 10 * 32, 1e-6);
}

}  // namespace
}  // namespace lanista::fuse
