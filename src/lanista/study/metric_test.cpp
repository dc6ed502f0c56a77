#include "lanista/study/metric.h"

#include <gtest/gtest.h>

namespace lanista::study {
namespace {

TEST(Metric, SuitsClassesOrNumbers) {
  EXPECT_TRUE(check_metric("accuracy", 10));
  EXPECT_TRUE(check_metric("top10", 10));
  EXPECT_TRUE(check_metric("mae", 0));
  EXPECT_FALSE(check_metric("accuracy", 0));
}

TEST(Metric, ThatDoesNotFitIsRefusedWithWhatIsAllowed) {
  for (const auto* name : {"top11", "top1", "topx", "top2x", "mae", "f1", "loss", ""}) {
    const auto checked = check_metric(name, 10);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
    EXPECT_NE(checked.error().message.find("top<k> with k from 2 to 10"), std::string::npos);
  }
}

}  // namespace
}  // namespace lanista::study
