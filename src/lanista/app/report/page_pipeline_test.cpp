#include <gtest/gtest.h>

#include "lanista/app/report/page.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using pipeline::ActionKind;
using pipeline::TimedStep;

/// One forward pass for each stage; that of the second stage needs three times the simulated time.
study::StudyView with_steps(int count) {
  study::StudyView view = testing::small_study();
  TimedStep step{.batch = 8,
                 .stages = {{"%1 linear</script>", 1, 8, 8, {1}}, {"%2 relu", 1, 8, 8, {}}},
                 .ranks = {{{ActionKind::kForward, 0, 0, 0, 0.001, 0, 0.001}},
                           {{ActionKind::kForward, 1, 0, 0.001, 0.002, 0.001, 0.004}}}};
  for (int i = 0; i < count; ++i) {
    study::Span span{TrialId{1}, 1, 0, 0, 1};
    span.timed = std::make_shared<const TimedStep>(step);
    view.spans.push_back(std::move(span));
  }
  return view;
}

TEST(PipelineSteps, ContainSimulatedAndMeasuredSteps) {
  const json steps = pipeline_steps(with_steps(1), 100'000);

  ASSERT_EQ(steps.size(), 1U);
  const json& step = steps[0];
  EXPECT_EQ(step["trial"], 1);
  EXPECT_EQ(step["ratio"], 2.0);
  EXPECT_EQ(step["stages"][1]["simulated"], 1.0);
  EXPECT_EQ(step["stages"][1]["measured"], 3.0);
  EXPECT_EQ(step["stages"][0]["next"], json{1});
  EXPECT_EQ(step["stages"][1]["places"], json{1});
  EXPECT_EQ(step["charts"].get<std::string>().find("  simulated, 2.000 ms\n  0      |FFF"), 0U) << step["charts"];
  EXPECT_NE(step["charts"].get<std::string>().find("  measured, 4.000 ms\n"), std::string::npos);
  EXPECT_EQ(step["drawing"]["at"].size(), 2U);
  EXPECT_EQ(step["drawing"]["paths"].size(), 1U);
}

TEST(PipelineSteps, FitByteLimitOfPage) {
  EXPECT_EQ(pipeline_steps(with_steps(30), 1'000'000).size(), 10U);
  const json few = pipeline_steps(with_steps(30), 4'000);
  EXPECT_LT(few.size(), 10U);
  EXPECT_LE(script_json(few).size(), 4'100U);
  const std::string page = report_page(with_steps(1), {});
  EXPECT_NE(page.find("\"pipeline\":[{"), std::string::npos);
  EXPECT_EQ(page.find("linear</script>"), std::string::npos);
}

// Pages of studies without stages, and of older logs without timed steps, do not change.
TEST(PipelineSteps, AreEmptyWithoutTimedSteps) {
  EXPECT_TRUE(pipeline_steps(with_steps(0), 100'000).empty());
  EXPECT_EQ(page_data(testing::small_study(), {}, 1'000'000).find("\"pipeline\""), std::string::npos);
}

}  // namespace
}  // namespace lanista::report
