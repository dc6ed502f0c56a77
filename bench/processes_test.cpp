#include "bench/processes.h"

#include <gtest/gtest.h>

#include <memory>

#include "bench/cases.h"
#include "bench/model_time_slices.h"

namespace lanista::bench {
namespace {

// The losses of the models in this process.
std::vector<double> losses_here(const std::string& case_name, std::int64_t models, int steps) {
  const std::vector<std::string> names{case_name};
  const auto cases = training_cases(names);
  auto slices = ModelTimeSlices::make(cases->front(), 0, models, std::make_shared<CaseBatch>(cases->front()));
  return slices.ok() ? slices->losses(steps) : std::vector<double>();
}

TEST(ProcessPair, TrainsModelsInOrder) {
  auto pair = ProcessPair::start();
  ASSERT_TRUE(pair.ok()) << pair.error().text();
  for (const auto& [name, models] : {std::pair<std::string, std::int64_t>{"mlp-64", 2}, {"cnn-digits", 5}}) {
    const auto loaded = pair->load(name, models);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const auto losses = pair->losses(3);
    ASSERT_TRUE(losses.ok()) << losses.error().text();
    EXPECT_EQ(*losses, losses_here(name, models, 3));
    const auto rate = pair->rate(0.001);
    ASSERT_TRUE(rate.ok()) << rate.error().text();
    EXPECT_GT(*rate, 0);
  }
}

TEST(ProcessPair, ReportsErrorOfProcessAndContinues) {
  auto pair = ProcessPair::start();
  ASSERT_TRUE(pair.ok()) << pair.error().text();
  const auto unknown = pair->load("mlp-65", 2);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kInternal);
  EXPECT_NE(unknown.error().message.find("mlp-65"), std::string::npos) << unknown.error().text();
  EXPECT_FALSE(pair->losses(1).ok());
  EXPECT_TRUE(pair->load("mlp-64", 2).ok());
  EXPECT_TRUE(pair->losses(1).ok());
}

}  // namespace
}  // namespace lanista::bench
