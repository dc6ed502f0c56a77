#include "lanista/engine/forecast/forecast.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanista::engine {
namespace {

study::StudyView worked(std::initializer_list<study::Span> spans, std::size_t trials) {
  study::StudyView view;
  view.config.strategy.slots = 16;
  view.spans = spans;
  for (std::size_t i = 0; i < trials; ++i) {
    study::TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(i + 1)};
    view.trials.push_back(trial);
  }
  return view;
}

ClusterFile two_workers() {
  ClusterFile on;
  on.cluster.workers = 2;
  on.cluster.widest = on.cluster.shares = 1;
  return on;
}

TEST(Forecast, ReplaysWorkerTimes) {
  // Trials of 3, 2 and 1 seconds: two workers need three.
  const auto view = worked(
      {{TrialId{1}, 1, 0, 0, 2}, {TrialId{2}, 1, 0, 2, 4}, {TrialId{3}, 1, 0, 4, 5}, {TrialId{1}, 2, 0, 5, 6}}, 3);

  const auto forecast = forecast_log(view, two_workers());

  ASSERT_TRUE(forecast) << forecast.error().text();
  EXPECT_EQ(forecast->trials, 3);
  EXPECT_NEAR(forecast->course.makespan, 3, 1e-9);
  EXPECT_NEAR(forecast->fifo_seconds, 3, 1e-9);
  EXPECT_NEAR(forecast->bounds.dual, 3, 1e-9);
  EXPECT_NEAR(forecast->course.utilisation(), 1, 1e-9);
  const auto out = forecast_json(*forecast);
  EXPECT_NEAR(out["gap"].get<double>(), 0, 1e-9);
  EXPECT_EQ(out["timeline"].size(), 3u);
  EXPECT_NE(forecast_text(*forecast).find("makespan     3.00 s"), std::string::npos) << forecast_text(*forecast);
}

TEST(Forecast, KeepsToTheSlots) {
  auto view = worked({{TrialId{1}, 1, 0, 0, 2}, {TrialId{2}, 1, 0, 2, 4}}, 2);
  view.config.strategy.slots = 1;

  const auto forecast = forecast_log(view, two_workers());

  ASSERT_TRUE(forecast) << forecast.error().text();
  EXPECT_NEAR(forecast->course.makespan, 4, 1e-9);
  EXPECT_NEAR(forecast->course.utilisation(), 0.5, 1e-9);
}

TEST(Forecast, NeedsWork) {
  const auto forecast = forecast_log(worked({}, 2), two_workers());

  ASSERT_FALSE(forecast);
  EXPECT_EQ(forecast.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace lanista::engine
