#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lanista/bench/torch_loop.h"
#include "lanista/bench/train_step.h"

namespace lanista::bench {
namespace {

TEST(TorchForward, GivesOurLossesForEveryCase) {
  for (const Case& c : training_cases()) {
    for (const bool channels_last : {false, true}) {
      auto ours = OurProgram::make(c, 1, 1);
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

Request quick(const std::string& bench, const std::string& case_name) {
  Request request;
  request.name = bench;
  request.repeats = 1;
  request.json = true;
  request.cases = {case_name};
  return request;
}

std::set<std::string> arms_of(const std::string& rows) {
  std::set<std::string> arms;
  std::istringstream lines(rows);
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    EXPECT_EQ(row.at("unit"), "us/step");
    EXPECT_GT(row.at("value").get<double>(), 0);
    arms.insert(row.at("case").get<std::string>() + " " + row.at("arm").get<std::string>());
  }
  return arms;
}

TEST(TrainStep, GivesARowForEveryArm) {
  std::ostringstream out;

  const auto done = train_step(quick("train-step", "cnn-digits"), out);

  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(arms_of(out.str()),
            (std::set<std::string>{"cnn-digits/1 limit-bytes", "cnn-digits/1 limit-flops", "cnn-digits/1 loop",
                                   "cnn-digits/1 loop-nhwc", "cnn-digits/1 ours", "cnn-digits/1 ours-2"}));
}

TEST(Fuse, GivesARowForEveryArmAndLaneCount) {
  std::ostringstream out;
  Request request = quick("fuse", "mlp-64");
  request.lanes = {1, 3};

  const auto done = fuse(request, out);

  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(arms_of(out.str()),
            (std::set<std::string>{"mlp-64/1 auto", "mlp-64/1 limit-bytes", "mlp-64/1 limit-flops", "mlp-64/1 loop",
                                   "mlp-64/1 ours-2", "mlp-64/3 auto", "mlp-64/3 limit-bytes", "mlp-64/3 limit-flops",
                                   "mlp-64/3 loop", "mlp-64/3 ours-2"}));
}

TEST(Fuse, KnowsItsCases) {
  std::ostringstream out;
  const auto done = fuse(quick("fuse", "small-mlp"), out);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace lanista::bench
