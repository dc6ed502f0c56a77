#include "lanista/search/study/metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace lanista::study {
namespace {

TEST(Metric, AppliesToClassesOrNumbers) {
  EXPECT_TRUE(check_metric("accuracy", 10));
  EXPECT_TRUE(check_metric("top10", 10));
  EXPECT_TRUE(check_metric("roc_auc", 10));
  EXPECT_TRUE(check_metric("f1", 2));
  EXPECT_TRUE(check_metric("mae", 0));
  EXPECT_TRUE(check_metric("quantile1", 0));
  EXPECT_TRUE(check_metric("quantile99", 0));
  EXPECT_FALSE(check_metric("accuracy", 0));
  EXPECT_FALSE(check_metric("f1", 3));
  EXPECT_FALSE(check_metric("rmse", 2));
}

TEST(Metric, RejectsMetricForWrongTargets) {
  for (const auto* name : {"top11", "top1", "topx", "top2x", "top<k>", "mae", "f1", "loss", ""}) {
    const auto checked = check_metric(name, 10);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
    EXPECT_NE(checked.error().message.find("top<k> with k from 2 to 10"), std::string::npos);
  }
  for (const auto* name : {"quantile0", "quantile100", "quantile-5", "quantile5.5", "quantile", "top5", "accuracy"}) {
    const auto checked = check_metric(name, 0);
    ASSERT_FALSE(checked) << name;
    EXPECT_NE(checked.error().message.find("quantile<q> with q from 1 to 99"), std::string::npos);
  }
  EXPECT_NE(check_metric("f1", 10).error().message.find("it is for two classes"), std::string::npos);
  EXPECT_NE(check_metric("f1_makro", 10).error().message.find("did you mean 'f1_macro'?"), std::string::npos);
}

TEST(Metrics, HaveTargetsAndHelp) {
  std::set<std::string> names;
  for (const Metric& metric : metrics()) {
    EXPECT_FALSE(metric.help.empty()) << metric.name;
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_EQ(metric.usual > 0, metric.name.ends_with('>')) << metric.name;
  }
  const std::vector<std::string> two = applicable_metrics(2), ten = applicable_metrics(10),
                                 numbers = applicable_metrics(0);
  EXPECT_EQ(two, (std::vector<std::string>{"accuracy", "balanced_accuracy", "f1_macro", "log_loss", "perplexity",
                                           "calibration_error", "matthews", "roc_auc", "average_precision", "f1"}));
  EXPECT_EQ(ten,
            (std::vector<std::string>{"accuracy", "top5", "balanced_accuracy", "f1_macro", "log_loss", "perplexity",
                                      "calibration_error", "matthews", "roc_auc", "average_precision"}));
  EXPECT_EQ(numbers, (std::vector<std::string>{"mae", "rmse", "r2", "mape", "quantile90"}));
  for (const std::string& name : two) EXPECT_TRUE(check_metric(name, 2)) << name;
  for (const std::string& name : ten) EXPECT_TRUE(check_metric(name, 10)) << name;
  for (const std::string& name : numbers) EXPECT_TRUE(check_metric(name, 0)) << name;
}

TEST(Metrics, HaveRangesThatEndAtTheirBestValue) {
  for (const Metric& metric : metrics()) {
    EXPECT_LT(metric.least, metric.largest) << metric.name;
    EXPECT_TRUE(std::isfinite(metric.least) || std::isfinite(metric.largest)) << metric.name;
    if (!metric.bound) continue;
    EXPECT_EQ(metric.maximize ? metric.largest : metric.least, *metric.bound) << metric.name;
  }
  EXPECT_EQ(range_of("val_loss").least, 0);
  EXPECT_EQ(range_of("val_matthews").least, -1);
  EXPECT_EQ(range_of("val_r2").largest, 1);
  EXPECT_TRUE(std::isinf(range_of("params").largest));
}

TEST(Metrics, HaveDirection) {
  for (const auto* more : {"val_accuracy", "val_top3", "val_f1", "val_roc_auc", "val_matthews", "val_r2"}) {
    EXPECT_EQ(more_is_better(more), true) << more;
  }
  for (const auto* less : {"val_loss", "train_loss", "val_log_loss", "val_perplexity", "val_calibration_error",
                           "val_mae", "val_quantile10", "params", "flops"}) {
    EXPECT_EQ(more_is_better(less), false) << less;
  }
  for (const auto* nothing : {"accuracy", "val_", "val_speed", "train_accuracy", "lr", ""}) {
    EXPECT_EQ(more_is_better(nothing), std::nullopt) << nothing;
  }
}

TEST(Metrics, AcceptCallerMetrics) {
  const std::vector<Metric> own{{.name = "net_gain", .targets = MetricTargets::kTwoClasses, .maximize = true}};
  EXPECT_TRUE(check_metric("net_gain", 2, own));
  EXPECT_TRUE(check_metric("accuracy", 2, own));
  EXPECT_FALSE(check_metric("net_gain", 2));
  EXPECT_FALSE(check_metric("net_gain", 3, own));
  const auto refused = check_metric("net_gian", 2, own);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("did you mean 'net_gain'?"), std::string::npos);
}

}  // namespace
}  // namespace lanista::study
