#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/fuse.h"
#include "bench/torch_loop.h"
#include "bench/train_step.h"

namespace lanista::bench {
namespace {

TEST(TorchForward, GivesLanistaLossesForEachCase) {
  for (const Case& c : training_cases()) {
    for (const bool channels_last : {false, true}) {
      auto ours = LanistaProgram::make(c, 1, 1);
      ASSERT_TRUE(ours.ok()) << c.name << ": " << ours.error().text();
      const TorchBatch batch(c, channels_last);
      TorchLoop loop(torch_forward(c.name), ours->weights(0), ours->rate(0), channels_last);
      for (int step = 0; step < 3; ++step) {
        const double loss = ours->step()[0];
        EXPECT_NEAR(loop.step(batch), loss, 1e-5 * loss) << c.name << " step " << step;
      }
    }
  }
}

// A request for one round of one case.
BenchRequest quick(const std::string& bench, const std::string& case_name) {
  BenchRequest request;
  request.name = bench;
  request.repeats = 1;
  request.json = true;
  request.cases = {case_name};
  return request;
}

// The rows as "CASE ARM UNIT".
std::set<std::string> arms_of(const std::string& rows) {
  std::set<std::string> arms;
  std::istringstream lines(rows);
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    EXPECT_GT(row.at("value").get<double>(), 0);
    arms.insert(row.at("case").get<std::string>() + " " + row.at("arm").get<std::string>() + " " +
                row.at("unit").get<std::string>());
  }
  return arms;
}

/// The expected rows as "CASE ARM UNIT", from the "ARM UNIT" of each case.
std::set<std::string> expected(std::vector<std::pair<std::string, std::vector<std::string>>> cases) {
  std::set<std::string> out{"machine speedup-2 x"};
  for (const auto& [name, arms] : cases) {
    for (const std::string& arm : arms) out.insert(name + " " + arm);
  }
  return out;
}

TEST(TrainStep, PrintsRowForEachArm) {
  std::ostringstream out;

  const auto done = train_step(quick("train-step", "cnn-digits"), out);

  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(arms_of(out.str()),
            expected({{"cnn-digits/1",
                       {"ours us/step", "ours-2 us/step", "loop us/step", "loop-nhwc us/step", "limit-flops us/step",
                        "limit-bytes us/step", "speedup-2 x", "loop/ours x", "loop/ours-low x"}}}));
}

TEST(Fuse, PrintsRowForEachArmAndLaneCount) {
  std::ostringstream out;
  BenchRequest request = quick("fuse", "mlp-64");
  request.lanes = {1, 3};

  const auto done = fuse(request, out);

  ASSERT_TRUE(done.ok()) << done.error().text();
  std::vector<std::string> of_one{"loop us/step",        "single us/step", "auto us/step",     "limit-flops us/step",
                                  "limit-bytes us/step", "speedup-2 x",    "auto-bytes bytes", "single-bytes bytes",
                                  "auto-plan ms",        "single-plan ms", "best/auto x",      "best/auto-low x"};
  auto of_three = of_one;
  for (auto* rows : {&of_one, &of_three}) {
    const std::string row = rows == &of_one ? "loop/auto" : "loop/auto-1";
    rows->insert(rows->end(), {row + " x", row + "-low x"});
  }
  of_three.insert(of_three.end(), {"auto-1 us/step", "packed us/step", "processes us/step"});
  EXPECT_EQ(arms_of(out.str()), expected({{"mlp-64/1", of_one}, {"mlp-64/3", of_three}}));
}

TEST(Fuse, RefusesUnknownCase) {
  std::ostringstream out;
  const auto done = fuse(quick("fuse", "small-mlp"), out);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace lanista::bench
