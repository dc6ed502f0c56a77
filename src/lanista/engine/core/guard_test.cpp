#include <gtest/gtest.h>

#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::small_study;

TEST(Guard, IgnoresSystemDateChanges) {
  for (const double jump : {1e9, -1e9}) {
    Bench bench;
    study::StudyConfig config = small_study();
    config.budget.guard_minutes = 60;
    int events = 0;
    bench.observer.on_event = [&](const StudyView&, const study::Event&) {
      if (++events == 10) bench.clock.shift_date(jump);
    };
    ASSERT_TRUE(bench.run(config, {}));
    EXPECT_EQ(bench.view().end_reason, "budget");
    EXPECT_GT(bench.view().seconds, 0);
    EXPECT_LT(bench.view().seconds, 3600);
  }
}

TEST(Guard, EndsStudyAboveTimeLimit) {
  Bench bench;
  study::StudyConfig config = small_study(1000);
  config.budget.guard_minutes = 0.5;
  ASSERT_TRUE(bench.run(config, {}));
  EXPECT_EQ(bench.view().end_reason, "guard");
}

}  // namespace
}  // namespace lanista::engine
