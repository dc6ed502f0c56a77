#include "lanista/app/cli/progress.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace lanista::cli {
namespace {

/// A study of one trial that has just measured something.
study::StudyView one_trial() {
  study::StudyView view;
  study::TrialView trial;
  trial.id = TrialId{1};
  trial.measurements.push_back({TrialId{1}, 1, 30, {{"val_accuracy", 0.5}, {"train_loss", 2.0}}});
  view.trials.push_back(trial);
  return view;
}

std::string shown(ProgressStyle style, const std::vector<study::Event>& events, bool on_stdout) {
  const VirtualClock clock;
  Progress progress(style, {}, clock);
  const auto view = one_trial();
  if (on_stdout) {
    ::testing::internal::CaptureStdout();
  } else {
    ::testing::internal::CaptureStderr();
  }
  for (const auto& event : events) progress.on_event(view, event);
  progress.finish();
  return on_stdout ? ::testing::internal::GetCapturedStdout() : ::testing::internal::GetCapturedStderr();
}

const std::vector<study::Event>& trial_events() {
  static const std::vector<study::Event> events{
      study::Proposed{TrialId{1}, {}},
      study::Measured{
          {TrialId{1}, 1, 30, {{"val_accuracy", 0.5}, {"train_loss", std::numeric_limits<double>::quiet_NaN()}}}},
      study::Ended{TrialId{1}, {study::OutcomeKind::kFailed, "diverged\x1b[31m", {}, "", {}}}};
  return events;
}

// docs/reference/events.md documents these keys.
TEST(Progress, PrintsOneJsonObjectPerLine) {
  std::istringstream lines(shown(ProgressStyle::kJson, trial_events(), true));
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));

  ASSERT_EQ(events.size(), 3U);
  for (const auto& event : events) {
    EXPECT_EQ(event.at("v"), 1);
    EXPECT_TRUE(event.at("t").is_number());
    EXPECT_EQ(event.at("trial"), 1);
  }
  EXPECT_EQ(events[0].at("event"), "proposed");
  EXPECT_TRUE(events[0].at("sample").is_object());
  EXPECT_EQ(events[1].at("event"), "metric");
  EXPECT_EQ(events[1].at("epoch"), 1);
  EXPECT_EQ(events[1].at("step"), 30);
  EXPECT_EQ(events[1].at("metrics").at("val_accuracy"), 0.5);
  EXPECT_EQ(events[1].at("metrics").at("train_loss"), "nan");
  EXPECT_EQ(events[2].at("event"), "ended");
  EXPECT_EQ(events[2].at("outcome").at("kind"), "failed");
}

TEST(Progress, PrintsNothingOnStdoutWithoutJson) {
  EXPECT_EQ(shown(ProgressStyle::kLines, trial_events(), true), "");
  EXPECT_EQ(shown(ProgressStyle::kQuiet, trial_events(), true), "");
}

TEST(Progress, WritesNoControlCodesToPipe) {
  const std::string text = shown(ProgressStyle::kLines, trial_events(), false);
  EXPECT_NE(text.find("#1 failed"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos) << text;
}

}  // namespace
}  // namespace lanista::cli
