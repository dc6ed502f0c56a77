#include "lanista/plan/pipeline/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lanista/plan/pipeline/plan_text.h"
#include "lanista/plan/pipeline/planner.h"
#include "lanista/plan/pipeline/simulate.h"
#include "support/plan/pipeline/test_support.h"

namespace lanista::pipeline {
namespace {

std::vector<std::int64_t> in_flight(const PipelinePlan& plan) {
  std::vector<std::int64_t> all;
  for (const Stage& stage : plan.stages) all.push_back(stage.in_flight);
  return all;
}

TEST(InFlight, MatchesTheExampleOfThePaper) {
  const Problem chain = a_problem(3, {{0, 1}, {1, 2}}, 64, 3);

  EXPECT_EQ(in_flight(one_each(chain, {1, 2, 4})), (std::vector<std::int64_t>{10, 8, 4}));
  EXPECT_EQ(in_flight(one_each(chain, {4, 4, 4})), (std::vector<std::int64_t>{12, 8, 4}));
}

TEST(InFlight, MatchesCandleUnoAsAChainAndAsAGraph) {
  Problem uno = a_problem(6, {{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 5}}, 4096, 6);
  PipelinePlan plan{uno.model.hash, 4096, {}};
  for (std::uint32_t i = 0; i < 6; ++i) plan.stages.push_back({{i}, 64, 1, {i}, 64, {}});

  EXPECT_EQ(in_flight(*arranged(plan, uno.model, true)), (std::vector<std::int64_t>{384, 320, 256, 192, 128, 64}));
  EXPECT_EQ(in_flight(*arranged(plan, uno.model)), (std::vector<std::int64_t>{192, 192, 192, 192, 128, 64}));
}

TEST(PipelinePlan, RoundTripsAsText) {
  const Problem problem = a_problem(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, 8, 4);
  const PipelinePlan plan = one_each(problem, {2});

  const auto read = read_plan(nlohmann::json::parse(plan_json(plan).dump()));

  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(*read, plan);
  EXPECT_TRUE(check(*read, problem).ok());
}

TEST(PipelinePlan, IsRefusedForAnotherProblem) {
  const Problem problem = a_problem(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, 8, 4);
  const PipelinePlan good = one_each(problem, {2});
  const auto refusal = [&](auto change) {
    PipelinePlan plan = good;
    change(plan);
    const auto result = check(plan, problem);
    return result.ok() ? std::string("taken") : result.error().message;
  };

  EXPECT_NE(refusal([](PipelinePlan& p) { p.model = {}; }).find("the plan is of model"), std::string::npos);
  EXPECT_EQ(refusal([](PipelinePlan& p) { p.stages[1].micro_batch = 3; }),
            "stage 1: a micro-batch of 3 does not divide the batch of 8");
  EXPECT_EQ(refusal([](PipelinePlan& p) { p.stages[3].operators = {2}; }),
            "stage 3: operator 2 does not exist or is listed twice");
  EXPECT_EQ(refusal([](PipelinePlan& p) {
              p.stages[2].devices = {1, 2};
            }),
            "device 1 is in stages 1 and 2; allowed are stages with the same devices, or with none in common");
  EXPECT_EQ(refusal([](PipelinePlan& p) { p.stages[0].successors = {1}; }),
            "stage 2 reads stage 0, which must precede it and have it as a successor");
  EXPECT_NE(refusal([](PipelinePlan& p) { p.stages[0].devices = {9}; }).find("allowed are 0 to 3"), std::string::npos);
  EXPECT_NE(refusal([](PipelinePlan& p) { p.stages[0].in_flight = 3; }).find("allowed are multiples of 2"),
            std::string::npos);
}

TEST(PipelinePlan, RefusesDamagedText) {
  auto json = plan_json(one_each(a_problem(2, {{0, 1}}, 4, 2), {2}));
  const auto refused = [](const nlohmann::json& damaged) { return !read_plan(damaged).ok(); };

  auto other = json;
  other["pipeline"] = 2;
  EXPECT_TRUE(refused(other));
  other = json;
  other["stages"][0]["operators"] = {-1};
  EXPECT_TRUE(refused(other));
  other = json;
  other["stages"][1].erase("devices");
  EXPECT_TRUE(refused(other));
  EXPECT_TRUE(refused(nlohmann::json::array()));
}

TEST(Model, IsRefusedIfItCannotBeCut) {
  EXPECT_EQ(check(a_problem(2, {{0, 1}, {1, 0}}, 4, 2)).error().message,
            "the model cannot be cut into stages: its operators form a cycle");
  Problem unlinked = a_problem(2, {{0, 1}}, 4, 2);
  unlinked.devices.classes.push_back(unlinked.devices.classes[0]);
  EXPECT_FALSE(check(unlinked).ok());
}

TEST(PipelinePlan, AddsTheMemoryOfStagesOnOneDevice) {
  Problem problem = a_problem(2, {{0, 1}}, 4, 2);
  for (Operator& op : problem.model.operators) op.parameter_bytes = 10;
  problem.devices = equal_devices(2, 70, {0, 1e18});
  PipelinePlan plan = one_each(problem, {2});
  EXPECT_TRUE(check(plan, problem).ok());

  plan.stages[1].devices = plan.stages[0].devices;

  EXPECT_EQ(check(plan, problem).error().code, Code::kResourceExhausted);
  EXPECT_FALSE(fits(plan, problem).ok());
  problem.devices = equal_devices(2, 80, {0, 1e18});
  EXPECT_TRUE(check(plan, problem).ok());
}

TEST(PlanText, NamesStagesAndTheirSuccessors) {
  Problem problem = a_problem(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, 8, 4);
  for (std::size_t i = 0; i < 4; ++i) problem.model.operators[i].name = "op" + std::to_string(i);
  const PipelinePlan plan = one_each(problem, {2});

  const std::string text = plan_text(plan, &problem);

  EXPECT_NE(text.find("4 stages, 3 on the longest path; a step has 8 samples\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  0      1,2   0        2            1  6          2000.000    4000.000"), std::string::npos)
      << text;
  EXPECT_NE(text.find("3  op3\n"), std::string::npos) << text;
  EXPECT_EQ(plan_text(plan, nullptr).find("op3"), std::string::npos);
  const Schedule schedule = kfkb(plan, problem);
  const auto simulation = simulate(schedule, plan, problem);
  EXPECT_NE(
      simulation_text(*simulation, schedule, plan, problem).find("a step needs 36000.000 ms, 0.2 samples a second"),
      std::string::npos)
      << simulation_text(*simulation, schedule, plan, problem);
}

TEST(LimitInFlight, ReducesTheLargestStageUntilItFits) {
  Problem problem = a_problem(3, {{0, 1}, {1, 2}}, 8, 3);
  for (Operator& op : problem.model.operators) op = an_operator(1, 1);  // A stage also keeps received values.
  const auto held = [&](double memory) {
    problem.devices.classes[0].memory_bytes = memory;
    PipelinePlan plan = one_each(problem, {2});
    limit_in_flight(plan, problem);
    return in_flight(plan);
  };
  EXPECT_EQ(held(8), (std::vector<std::int64_t>{6, 4, 2}));
  EXPECT_EQ(held(5), (std::vector<std::int64_t>{4, 2, 2}));
  EXPECT_EQ(held(4), (std::vector<std::int64_t>{4, 2, 2}));
  EXPECT_EQ(held(3), (std::vector<std::int64_t>{2, 2, 2})) << "a stage holds at least one micro-batch";
}

TEST(LimitInFlight, GivesPlansThatEnd) {
  std::int64_t held = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Rng rng = Rng(91).split(i);
    Problem problem = random_problem(rng, 10, 4, 16);
    for (Operator& op : problem.model.operators) op.activation_bytes = 1 + static_cast<double>(rng.below(9));
    const auto planned = make_plan(problem, {.micro_batch = std::int64_t{1} << rng.below(4), .improvement = 0});
    ASSERT_TRUE(planned.ok()) << planned.error().text();
    const auto bytes = bytes_of(planned->plan, problem.model);
    problem.devices.classes[0].memory_bytes = *std::ranges::max_element(bytes) * rng.uniform(0.3, 1.0);
    PipelinePlan plan = planned->plan;
    limit_in_flight(plan, problem);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      EXPECT_LE(plan.stages[s].in_flight, planned->plan.stages[s].in_flight);
      EXPECT_GE(plan.stages[s].in_flight, plan.stages[s].k * plan.stages[s].micro_batch);
    }
    held += in_flight(plan) != in_flight(planned->plan) ? 1 : 0;
    const Schedule schedule = kfkb(plan, problem);
    EXPECT_TRUE(prove(lowered(schedule, plan, problem.model), plan).ok()) << i;
    if (!fits(plan, problem)) continue;
    const auto simulation = simulate(schedule, plan, problem);
    ASSERT_TRUE(simulation.ok()) << i << simulation.error().text();
    EXPECT_GE(simulation->seconds, planned->seconds * (1 - 1e-9)) << i;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      EXPECT_LE(simulation->live_samples[s], plan.stages[s].in_flight) << i;
    }
  }
  EXPECT_GE(held, 30);
}

}  // namespace
}  // namespace lanista::pipeline
