#include "lanista/app/cli/assessment_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/app/cli/terminal.h"

namespace lanista::cli {
namespace {

data::DataSpec classes(std::int64_t count) {
  data::DataSpec spec;
  spec.classes = count;
  return spec;
}

inference::Assessment of_classes(std::int64_t count) {
  inference::Assessment out;
  out.rows = 7;
  out.metrics = {{"accuracy", 0.5}, {"loss", std::numeric_limits<double>::quiet_NaN()}};
  out.classes = count;
  out.confusion.assign(static_cast<std::size_t>(count * count), 0);
  return out;
}

TEST(AssessmentText, ShowsConfusionMatrixForFewClasses) {
  auto spec = classes(2);
  spec.labels = {"cat", "dog"};
  auto two = of_classes(2);
  two.confusion = {10, 2, 0, 1};
  EXPECT_EQ(assessment_text(two, spec),
            "rows  7\n"
            "accuracy  0.5\n"
            "loss  nan\n"
            "\n"
            "confusion: a row for each label, a column for each prediction\n"
            " label   0  1\n"
            " 0 cat  10  2\n"
            " 1 dog   0  1\n");
}

TEST(AssessmentText, ShowsLowestRecallForManyClasses) {
  auto many = of_classes(21);
  for (std::size_t i = 0; i < 21; ++i) many.confusion[i * 21 + (i < 3 ? 20 : i)] = 4;
  many.lost = 1;
  const std::string text = assessment_text(many, classes(21));
  EXPECT_NE(text.find("without a prediction  1\n"), std::string::npos);
  EXPECT_NE(text.find("classes with the lowest recall, of 21\n"
                      " label  recall  precision  rows\n"
                      " 0           0          0     4\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("\n 10 "), std::string::npos) << "ten of them\n" << text;
  EXPECT_NE(assessment_text(of_classes(20), classes(20)).find("confusion: "), std::string::npos);
}

TEST(AssessmentText, ShowsLineForEachLabel) {
  data::DataSpec spec;
  spec.multilabel = true;
  spec.target_size = 2;
  spec.schema = {{"target", {{"names", {"rain", "wind"}}, {"kind", "multilabel"}}}};
  inference::Assessment labels;
  labels.rows = 10;
  labels.multilabel = true;
  labels.confusion = {4, 2, 1, 3, /**/ 10, 0, 0, 0};
  EXPECT_EQ(assessment_text(labels, spec),
            "rows  10\n"
            "\n"
            "labels, with the rows that have them\n"
            " label  precision  recall      f1  rows\n"
            " rain         0.6    0.75  0.6667     4\n"
            " wind           0       0       0     0\n");
  const auto json = assessment_json(labels, spec);
  ASSERT_EQ(json["labels"].size(), 2U);
  EXPECT_EQ(json["labels"][0]["name"], "rain");
  EXPECT_EQ(json["labels"][0]["rows"], 4);
  EXPECT_EQ(json["labels"][0]["recall"], 0.75);
}

TEST(AssessmentText, ShowsLineForEachTarget) {
  data::DataSpec spec;
  spec.target_size = 2;
  spec.schema = {{"target", {{"names", {"price", "days"}}, {"kind", "numbers"}}}};
  inference::Assessment numbers;
  // Errors 1, -1 and 2, 0 of targets 3, 5 and 4, 4.
  numbers.residuals = inference::residuals_of(std::vector<double>{2, 2, 6, 4}, std::vector<float>{3, 4, 5, 4}, 2);
  const std::string text = assessment_text(numbers, spec);
  EXPECT_NE(text.find("metrics of each target\n"
                      " target  mae   rmse  r2\n"
                      " price     1      1   0\n"
                      " days      1  1.414   0\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n   days     1       1 "), std::string::npos) << text;
  const auto json = assessment_json(numbers, spec);
  EXPECT_EQ(json["residuals"][1]["name"], "days");
  EXPECT_EQ(json["residuals"][0]["mae"], 1.0);
}

TEST(AssessmentText, ShowsResiduals) {
  inference::Assessment numbers;
  numbers.rows = 3;
  numbers.metrics = {{"mae", 1}};
  numbers.residuals = {{-0.5, 2, {-3, -2, -1, 0, 1, 2, 3}}};
  EXPECT_EQ(assessment_text(numbers, classes(0)),
            "rows  3\n"
            "mae  1\n"
            "\n"
            "residuals: target minus prediction, with quantiles\n"
            " output  mean  spread  1%  5%  25%  50%  75%  95%  99%\n"
            "      0  -0.5       2  -3  -2   -1    0    1    2    3\n");
}

TEST(AssessmentText, EscapesControlCharactersOfLabels) {
  auto spec = classes(2);
  spec.labels = {
      "\x1b[2J\xc2\x9b"
      "31m\xe2\x80\xae",
      std::string(300, 'x') + "\n\r\xff"};
  const std::string text = assessment_text(of_classes(2), spec);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << static_cast<int>(c);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LT(end - at, 90U);
    at = end + 1;
  }
  spec.labels[1] = "";
  for (int i = 0; i < 40; ++i) spec.labels[1] += "\xe7\x8c\xab";  // wide, and three bytes each
  EXPECT_NE(assessment_text(of_classes(2), spec).find("\xe7\x8c\xab..."), std::string::npos);

  const std::string json = json_line(assessment_json(of_classes(2), spec));
  for (const char c : json.substr(0, json.size() - 1)) EXPECT_TRUE(c >= ' ' && c < 0x7f);
}

TEST(AssessmentJson, ContainsAllFields) {
  auto spec = classes(2);
  spec.labels = {"cat", "dog"};
  auto two = of_classes(2);
  two.confusion = {3, 1, 0, 2};
  const auto json = assessment_json(two, spec);
  EXPECT_EQ(json.at("rows"), 7);
  EXPECT_EQ(json.at("metrics").at("loss"), "nan");
  EXPECT_EQ(json.at("confusion"), (nlohmann::json{{3, 1}, {0, 2}}));
  EXPECT_EQ(json.at("classes")[0].at("name"), "cat");
  EXPECT_EQ(json.at("classes")[0].at("recall"), 0.75);
  EXPECT_EQ(json.at("classes")[1].at("rows"), 2);

  inference::Assessment numbers;
  numbers.residuals = {{1, 2, {1, 2, 3, 4, 5, 6, std::numeric_limits<double>::infinity()}}};
  const auto of_numbers = assessment_json(numbers, classes(0));
  EXPECT_EQ(of_numbers.at("residuals")[0].at("quantiles").at("50"), 4.0);
  EXPECT_EQ(of_numbers.at("residuals")[0].at("quantiles").at("99"), "inf");
  EXPECT_FALSE(of_numbers.contains("confusion"));
}

}  // namespace
}  // namespace lanista::cli
