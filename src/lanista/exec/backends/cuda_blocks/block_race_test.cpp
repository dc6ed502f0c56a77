// No two threads access one address between two barriers, so the order of threads does not change any bit.
#include <gtest/gtest.h>

#include "support/exec/backends/cuda_blocks/block_test_devices.h"

namespace lanista::device {
namespace {

using namespace testing;

TEST(BlockRaces, AreDetected) {
  const RaceReport race_report = report_of_injected_race();
  EXPECT_EQ(race_report.races, 1);
  EXPECT_EQ(race_report.first, "word 5: thread 3 reads what was written by thread 2 in one phase (1)");
}

TEST(BlockRaces, AreAbsentInEveryOperatorModel) {
  std::int64_t tried = 0;
  for (const TestModel& model : operator_models()) {
    RaceDetectingDevice race_device;
    if (train_on(race_device, derive(model)).empty()) continue;
    ++tried;
    EXPECT_EQ(race_device.race_report.races, 0) << model.name << ": " << race_device.race_report.first;
    EXPECT_GT(race_device.race_report.accesses, 1000) << model.name;
  }
  EXPECT_GE(tried, 40);
}

TEST(BlockThreads, GiveTheSameBytesInAnyOrder) {
  const auto backwards = [](int number) { return 255 - number; };
  const auto scattered = [](int number) { return (number * 101 + 37) % 256; };
  ReorderedThreadsDevice plain(nullptr), back(backwards), apart(scattered);
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    const std::vector<Tensor> wanted = train_on(plain, derived);
    EXPECT_EQ(train_on(back, derived), wanted) << model.name;
    EXPECT_EQ(train_on(apart, derived), wanted) << model.name;
  }
}

}  // namespace
}  // namespace lanista::device
