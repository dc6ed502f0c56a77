#include "lanista/app/cli/show_plan.h"

#include <gtest/gtest.h>

namespace lanista::cli {
namespace {

program::PlanLine line(const std::string& section, const std::string& kernel, double flops, double bytes) {
  return {.section = section,
          .node = graph::NodeId{5},
          .op = kernel,
          .kernel = kernel,
          .family = "avx2 float32",
          .attrs = "out=2",
          .inputs = {{{{graph::kBatch, 4}}, "plain", "input+0"}, {{{2, 4}}, "in_out", "parameter+0"}},
          .outputs = {{{{graph::kBatch, 2}}, "plain", "arena+64"}},
          .batch = 8,
          .flops = flops,
          .bytes = bytes};
}

/// A step of two calls and a prediction of one, on a machine of round numbers.
TimedPlan sample() {
  TimedPlan plan{
      .lines = {line("train", "linear", 4000, 1000), line("train", "relu_grad", 0, 2000),
                line("infer", "linear", 4000, 1000)},
      .bytes = 5000,
      .machine = {.isa = kernels::Isa::kAvx2, .peak_gflops = 10, .memory = {{"L1", 6000, 100}, {"L2", 9000, 50}}},
      .times = {.line_us = {0.8, 0.25, 0.6}, .step_us = 1.25, .samples = 40}};
  return plan;
}

TEST(PlanText, IsTableWithTotals) {
  const std::string values = "[N, 4] plain input+0, [2, 4] in_out parameter+0  [N, 2] plain arena+64\n";
  EXPECT_EQ(plan_text(sample()),
            std::string(" avx2 float32, batch 8, 5.0 kB for one lane; peak 10 GFLOP/s, L1 100 GB/s\n") + "\n" +
                "          node  kernel                    kB  kflop  predicted us  measured us  of peak  from" +
                std::string(45, ' ') + "to\n" +
                " train    %5    linear                   1.0      4          0.46         0.80     50 %  " + values +
                " train    %5    relu_grad                2.0                 0.07         0.25           " + values +
                " infer    %5    linear                   1.0      4          0.46         0.60     67 %  " + values +
                " step           all of train and commit  3.0      4          0.53         1.05     38 %\n" +
                " predict        all of infer             1.0      4          0.46         0.60     67 %\n" + "\n" +
                " a whole step needs 1.25 us (medians of 40 rounds)\n");
}

TEST(TimedText, ShowsSimulatedAndMeasuredStep) {
  pipeline::TimedStep step{.batch = 4, .stages = {{"%1 linear", 1, 4, 4, {}}}, .ranks = {{}}};
  step.ranks[0].push_back({pipeline::ActionKind::kForward, 0, 0, 0, 0.25, 0, 0.5});
  const study::TrialStep trial_step{TrialId{3}, std::make_shared<const pipeline::TimedStep>(step)};

  const std::string own = timed_step_text(trial_step, TrialId{3});
  EXPECT_EQ(own.find("in stages: 1 stage at 1 place; the passes of a step of 4 samples took 500.000 ms, 2.00 times "
                     "the simulated time\n  stage  next  place"),
            0U)
      << own;
  EXPECT_NE(own.find("  simulated, 250.000 ms\n  0      |FFF"), std::string::npos) << own;
  EXPECT_NE(own.find("  measured, 500.000 ms\n  0      |FFF"), std::string::npos) << own;
  EXPECT_EQ(timed_step_text(trial_step, TrialId{1}).find("in stages, timed in trial #3 of the same model: "), 0U);

  const auto json = timed_step_json(trial_step);
  EXPECT_EQ(json["trial"], 3);
  EXPECT_EQ(json["ratio"], 2.0);
  EXPECT_EQ(json["stage_ratios"], nlohmann::json{2.0});
  EXPECT_TRUE(*pipeline::read_timed_step(json) == step);
}

TEST(PlanText, UsesBandwidthOfCacheLevelOfLane) {
  TimedPlan plan = sample();
  EXPECT_EQ(plan.prices().gb_per_second, 100);
  plan.bytes = 7000;
  EXPECT_EQ(plan.prices().gb_per_second, 50);
}

TEST(PlanJson, ContainsEachLineAndTotals) {
  const auto json = plan_json(sample());

  ASSERT_EQ(json["lines"].size(), 3U);
  EXPECT_EQ(json["lines"][1]["kernel"], "relu_grad");
  EXPECT_EQ(json["lines"][0]["from"][1],
            (nlohmann::json{{"shape", "[2, 4]"}, {"layout", "in_out"}, {"place", "parameter+0"}}));
  EXPECT_DOUBLE_EQ(json["lines"][0]["predicted_us"], 0.4 + 0.01 + 0.05);
  EXPECT_DOUBLE_EQ(json["step"]["measured_us"], 1.05);
  EXPECT_DOUBLE_EQ(json["step"]["bytes"], 3000);
  EXPECT_DOUBLE_EQ(json["predict"]["flops"], 4000);
}

TEST(PlanCosts, HaveOneRowPerWork) {
  const auto costs = sample().costs();

  ASSERT_EQ(costs.rows().size(), 2U);
  const auto& [key, row] = *costs.rows().begin();
  EXPECT_EQ(key.work, "avx2 float32 linear{out=2}([8, 4], [2, 4]) -> [8, 2]");
  EXPECT_DOUBLE_EQ(row.microseconds, 0.7);
  EXPECT_EQ(row.samples, 80);
}

}  // namespace
}  // namespace lanista::cli
