#include "lanista/io/studyfile/notation.h"

#include <gtest/gtest.h>

#include "lanista/io/studyfile/study_file.h"

namespace lanista::studyfile {
namespace {

TEST(Goal, InfersDirectionOfKnownMetric) {
  for (const auto* more : {"val_f1_macro", "val_accuracy", "val_top3", "val_r2", " val_roc_auc "}) {
    const auto goal = parse_goal(more);
    ASSERT_TRUE(goal) << more;
    EXPECT_TRUE(goal->maximize) << more;
  }
  for (const auto* less : {"val_rmse", "val_quantile90", "val_loss", "train_loss", "params", "flops"}) {
    const auto goal = parse_goal(less);
    ASSERT_TRUE(goal) << less;
    EXPECT_FALSE(goal->maximize) << less;
    EXPECT_EQ(goal->metric, less);
  }
  EXPECT_FALSE(parse_goal("minimize val_f1_macro")->maximize) << "an explicit direction wins";
  EXPECT_TRUE(parse_goal("maximize ours")->maximize) << "whether it is measured is known when the data are";
  for (const auto* wrong : {"val_acuracy", "maximise val_accuracy", "maximize", "val_", "", "ours"}) {
    const auto goal = parse_goal(wrong);
    ASSERT_FALSE(goal) << wrong;
    EXPECT_NE(goal.error().message.find("or a metric alone"), std::string::npos);
  }
}

TEST(Goal, SuggestsNearestMetric) {
  EXPECT_NE(parse_goal("val_f1_makro").error().message.find("did you mean 'val_f1_macro'?"), std::string::npos);
  EXPECT_NE(parse_goal("val_acuracy").error().message.find("did you mean 'val_accuracy'?"), std::string::npos);
}

TEST(Goal, WritesInferredDirection) {
  const auto config = read_study("goal: [val_f1_macro, val_rmse]", "s");
  ASSERT_TRUE(config) << config.error().text();
  const std::string text = write_study(*config);
  EXPECT_NE(text.find("maximize val_f1_macro"), std::string::npos) << text;
  EXPECT_NE(text.find("minimize val_rmse"), std::string::npos) << text;
}

}  // namespace
}  // namespace lanista::studyfile
