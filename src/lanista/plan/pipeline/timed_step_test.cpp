#include "lanista/plan/pipeline/timed_step.h"

#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

namespace lanista::pipeline {
namespace {

using nlohmann::json;

constexpr double kMs = 1e-3;

/// Returns two stages on two ranks with one micro-batch. Measured times are twice the simulated ones, except for the
/// backward pass of the second stage.
TimedStep sample() {
  TimedStep step{
      .batch = 8, .stages = {{"%1 linear .. %2 relu", 2, 8, 8, {1}}, {"%3 linear", 1, 8, 8, {}}}, .ranks = {}};
  step.ranks.push_back({{ActionKind::kForward, 0, 0, 0, 1 * kMs, 0, 2 * kMs},
                        {ActionKind::kInputGrad, 0, 0, 3 * kMs, 3.5 * kMs, 5 * kMs, 6 * kMs},
                        {ActionKind::kWeightGrad, 0, 0, 3.5 * kMs, 4 * kMs, 6 * kMs, 7 * kMs}});
  step.ranks.push_back({{ActionKind::kForward, 1, 0, 1 * kMs, 2 * kMs, 2 * kMs, 4 * kMs},
                        {ActionKind::kBackward, 1, 0, 2 * kMs, 3 * kMs, 4 * kMs, 5 * kMs}});
  return step;
}

TEST(TimedStep, RoundTripsThroughItsRecord) {
  const TimedStep step = sample();
  ASSERT_TRUE(fits_record(step));
  const auto read = read_timed_step(json::parse(timed_step_json(step).dump()));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_TRUE(*read == step);
}

TEST(TimedStep, ReportsItsRatioToTheSimulation) {
  const TimedStep step = sample();
  EXPECT_DOUBLE_EQ(step.simulated().seconds, 4 * kMs);
  EXPECT_DOUBLE_EQ(step.measured().seconds, 7 * kMs);
  EXPECT_DOUBLE_EQ(step.measured().busy_seconds[0], 4 * kMs);
  EXPECT_NEAR(step.ratio(), 7.0 / 4, 1e-12);
  EXPECT_NEAR(step.ratio_of(0), 4.0 / 2, 1e-12);
  EXPECT_NEAR(step.ratio_of(1), 3.0 / 2, 1e-12);
}

TEST(TimedStep, IsPlottedNextToItsSimulation) {
  const std::string head =
      "2 stages at 2 places; the passes of a step of 8 samples took 7.000 ms, 1.75 times the simulated time\n";
  const std::string columns =
      "  stage  next  place  micro-batch  in flight  forward ms  measured  backward ms  measured  ratio  operators\n";
  const std::string first =
      "  0      1     0      8            8          1.000       2.000     1.000        2.000     2.00   "
      "2: %1 linear .. %2 relu\n";
  const std::string second =
      "  1            1      8            8          1.000       2.000     1.000        1.000     1.50   "
      "1: %3 linear\n";
  EXPECT_EQ(stages_text(sample()), head + columns + first + second);
  const std::string charts = charts_text(sample());
  const auto line = [&](const std::string& begin, const std::string& cells) {
    EXPECT_NE(charts.find("  " + begin + " |" + cells), std::string::npos) << charts;
  };
  EXPECT_EQ(charts.find("  simulated, 4.000 ms\n"), 0U) << charts;
  EXPECT_NE(charts.find("  measured, 7.000 ms\n"), std::string::npos) << charts;
  // A millisecond is a quarter of the 96 cells in the first chart, and a seventh in the second.
  line("0     ", std::string(24, 'F') + std::string(48, '.') + std::string(12, 'I') + std::string(12, 'W'));
  line("1     ", std::string(24, '.') + std::string(24, 'F') + std::string(24, 'B') + std::string(24, '.'));
  line("0     ", std::string(27, 'F') + std::string(42, '.') + "I");
}

// Any text of a log or of a worker is a valid step or is refused with what is allowed.
TEST(TimedStep, RefusesMalformedInput) {
  const json good = timed_step_json(sample());
  const auto refused = [&](const std::string& at, const json& value, const std::string& words) {
    json broken = good;
    broken[json::json_pointer(at)] = value;
    const auto read = read_timed_step(broken);
    ASSERT_FALSE(read.ok()) << at << " " << value;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
  };
  refused("/batch", 0, "'batch' is 0; allowed are numbers from 1");
  refused("/batch", "8", "'batch' is \"8\"");
  refused("/batch", std::numeric_limits<std::uint64_t>::max(), "'batch'");
  refused("/batch", 8.5, "'batch'");
  refused("/stages", json::array(), "'stages' must be a list of 1 to 512 entries");
  refused("/stages/0", {1, 2}, "stage 0 must be a list of 5 entries");
  refused("/stages/0/0", 7, "stage 0: its operators must be a text");
  refused("/stages/0/0", std::string(201, 'a'), "200 bytes");
  refused("/stages/0/1", -1, "count of operators");
  refused("/stages/0/2", 9, "its micro-batch is 9; allowed are numbers from 1 to 8");
  refused("/stages/0/4", {0}, "a successor is 0; allowed are numbers from 1 to 1");
  refused("/stages/1/4", {0}, "a successor");
  refused("/stages/0/4", {1, 1}, "a successor");
  refused("/places", 7, "'places'");
  refused("/places", json::array(), "'places'");
  refused("/places/0/0", {0, 0, 0, 1}, "a pass must be a list of 7 entries");
  refused("/places/0/0/0", 4, "a pass's kind is 4");
  refused("/places/0/0/1", 2, "a pass's stage is 2");
  refused("/places/0/0/2", 2, "a pass's micro-batch is 2");
  refused("/places/0/0/3", -1, "a pass's time is -1");
  refused("/places/0/0/4", 1e300, "a pass's time");
  refused("/places/0/0/5", "nan", "a pass's time");
  refused("/places/0/0/6", json(), "a pass's time is null");
  refused("/places/0/1/4", 0, "ends before it begins");
  for (const json& none : {json(), json(7), json::array(), json::object(), json{{"batch", 8}}}) {
    EXPECT_FALSE(read_timed_step(none).ok()) << none;
  }
  json many = good;
  many["places"][1] = json::array();
  for (std::size_t i = 0; i < kMaxTimedPasses; ++i) many["places"][1].push_back(good["places"][0][0]);
  EXPECT_FALSE(read_timed_step(many).ok());
  many["places"][0] = json::array();
  EXPECT_TRUE(read_timed_step(many).ok());
}

TEST(TimedStep, PlotsNothingWithoutElapsedTime) {
  TimedStep step = sample();
  for (auto& rank : step.ranks) {
    for (TimedStep::Pass& pass : rank) pass = {pass.kind, pass.stage, pass.micro, 0, 0, 0, 0};
  }
  EXPECT_EQ(step.ratio(), 0);
  EXPECT_EQ(charts_text(step), "  simulated, 0.000 ms\n  measured, 0.000 ms\n");
  EXPECT_NE(stages_text(step).find("took 0.000 ms\n"), std::string::npos) << stages_text(step);
  step.ranks.push_back({});
  EXPECT_TRUE(read_timed_step(timed_step_json(step)).ok());
}

}  // namespace
}  // namespace lanista::pipeline
