// No two threads of a block meet at one address between two barriers, and so their order shows in no bit.
#include <gtest/gtest.h>

#include "support/exec/backends/cuda_blocks/block_other_hosts.h"

namespace lanista::device {
namespace {

using namespace testing;

TEST(BlockRaces, AreSeen) {
  const Watch watch = watch_of_a_race();
  EXPECT_EQ(watch.races, 1);
  EXPECT_EQ(watch.first, "word 5: thread 3 reads what was written by thread 2 in one phase (1)");
}

TEST(BlockRaces, AreNoneInAnyOperatorModel) {
  std::int64_t tried = 0;
  for (const TestModel& model : operator_models()) {
    WatchedBlocks watched;
    if (train_on(watched, derive(model)).empty()) continue;
    ++tried;
    EXPECT_EQ(watched.watch.races, 0) << model.name << ": " << watched.watch.first;
    EXPECT_GT(watched.watch.accesses, 1000) << model.name;
  }
  EXPECT_GE(tried, 40);
}

TEST(BlockThreads, InAnyOrderGiveTheSameBytes) {
  const auto backwards = [](int number) { return 255 - number; };
  const auto scattered = [](int number) { return (number * 101 + 37) % 256; };
  OrderedBlocks plain(nullptr), back(backwards), apart(scattered);
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    const std::vector<Tensor> wanted = train_on(plain, derived);
    EXPECT_EQ(train_on(back, derived), wanted) << model.name;
    EXPECT_EQ(train_on(apart, derived), wanted) << model.name;
  }
}

}  // namespace
}  // namespace lanista::device
