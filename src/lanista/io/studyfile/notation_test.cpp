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

TEST(Goal, ConfirmsAContraryDirection) {
  EXPECT_TRUE(is_contrary({false, "val_accuracy"}));
  EXPECT_FALSE(is_contrary({true, "val_accuracy"}));
  EXPECT_FALSE(is_contrary({true, "ours"}));
  for (const char* wrong : {"minimize val_accuracy", "maximize val_loss", "maximize params"}) {
    const auto config = read_study(std::string("goal: ") + wrong, "s.yaml");
    ASSERT_FALSE(config.ok()) << wrong;
    EXPECT_NE(config.error().text().find("s.yaml:1:7: goal: '"), std::string::npos) << config.error().text();
    EXPECT_NE(config.error().text().find("to confirm it"), std::string::npos) << config.error().text();
    EXPECT_TRUE(read_study(std::string("rules: 1\ngoal: ") + wrong, "s.yaml").ok()) << wrong;
  }
  const auto config = read_study("goal: [minimize! val_accuracy, maximize! params]", "s.yaml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_FALSE(config->goals[0].maximize);
  const auto again = read_study(write_study(*config), "s.yaml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->goals[1].metric, "params");
  EXPECT_TRUE(again->goals[1].maximize);
}

std::string read_back(const std::string& text, std::int64_t rules = study::kLatestRules) {
  const auto domain = parse_domain(text, rules);
  return !domain ? "none" : *domain ? space::domain_text(**domain) : domain->error().message;
}

TEST(Range, ReadsWhatDomainsWrite) {
  for (const char* text : {"int(1, 8)", "int(8, 64, log)", "int(8, 64, 8)", "int(1, 64, 3, log)",
                           "quant(0.05, 0.35, 0.1)", "quant(0.5, 4, 0.5, log)", "range(0, 0.9)", "log(0.001, 0.5)"}) {
    EXPECT_EQ(read_back(text), text);
    EXPECT_EQ(read_back(text, study::kFirstRules), text);
  }
  for (const char* wrong : {"int(1)", "int(1, 8, 2, 3)", "int(0, 8, log)", "int(1, 8, linear)", "int(1, 8, 0)",
                            "quant(0, 1)", "quant(0, 1, 0)", "quant(0, 1, 0.1, lin)", "quant(0, 1, 0.1, log)",
                            "quant(1, 0, 0.1)", "quant(0, 1, -0.1)", "range(0, 1, log)", "log(1, 2, log)"}) {
    EXPECT_NE(read_back(wrong).find("allowed"), std::string::npos) << wrong << ": " << read_back(wrong);
  }
}

TEST(Range, BeginsGridsAtTheLowerBoundWithLaterRules) {
  const auto first = [](const std::string& text, std::int64_t rules) {
    return space::value_text(space::domain_value(**parse_domain(text, rules), 0, 1));
  };
  EXPECT_EQ(first("quant(0.05, 0.35, 0.1)", study::kLatestRules), "0.05");
  EXPECT_EQ(first("quant(0.05, 0.35, 0.1)", study::kFirstRules), "0.1");
  const auto later = parse_domain("quant(0.05, 0.35, 0.1)");
  EXPECT_EQ(explicit_domain_text(**later), "quant(0.05, 0.35, 0.1, from lo)");
  EXPECT_EQ(first(explicit_domain_text(**later), study::kFirstRules), "0.05");
  // A study file and a written one have the rules of the study.
  for (const auto& [rules, expected] : {std::pair("rules: 1\n", "0.1"), std::pair("", "0.05")}) {
    const auto config = read_study(std::string(rules) + "space: {params: {lr: quant(0.05, 0.35, 0.1)}}", "s.yaml");
    ASSERT_TRUE(config) << config.error().text();
    for (const auto& each : {*config, *read_study(write_study(*config), "s.yaml")}) {
      const auto& domain = each.space.params.parameters().front().domain;
      EXPECT_EQ(space::value_text(space::domain_value(domain, 0, 1)), expected);
    }
  }
}

TEST(Range, RefusesNumbersWithAFractionForWholeNumbers) {
  const auto error_of = [](const std::string& batch) {
    const auto config = read_study("space: {params: {batch: " + batch + "}}", "s.yaml");
    return config ? "" : config.error().text();
  };
  EXPECT_EQ(error_of("log(8, 64)"),
            "s.yaml:1:18: space.params.batch: batch is a whole number, and log(8, 64) has numbers with a fraction; "
            "write int(8, 64, log)");
  EXPECT_NE(error_of("range(8.5, 64)").find("write int(9, 64)"), std::string::npos) << error_of("range(8.5, 64)");
  EXPECT_NE(error_of("quant(8, 64, 0.5)").find("write int(8, 64)"), std::string::npos);
  EXPECT_NE(error_of("quant(8.5, 64.5, 8)").find("write int(9, 64, 8)"), std::string::npos);
  EXPECT_NE(error_of("range(8.2, 8.4)").find("it has no whole number"), std::string::npos);
  EXPECT_NE(error_of("[8.5, 16]").find("8.5 is not; allowed are whole numbers, such as [9, 16]"), std::string::npos)
      << error_of("[8.5, 16]");
  EXPECT_NE(error_of("int(8, 100000000)").find("a whole number from 1 to"), std::string::npos)
      << "the last value counts too";
  for (const char* good :
       {"int(8, 64, log)", "int(8, 64, 8)", "quant(8, 64, 8)", "quant(16, 80, 32)", "[8, 16.0]", "range(8, 8)", "32"}) {
    EXPECT_EQ(error_of(good), "") << good;
  }
}

}  // namespace
}  // namespace lanista::studyfile
