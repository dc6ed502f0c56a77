#include "lanista/search/study/assessment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

ModelAssessment of_classes() {
  ModelAssessment out{TrialId{7}, "abc", 3, 1, {}};
  PartAssessment part{"validation", 12, 1, {4, 1, 0, 0, 3, 0, 2, 0, 1}, {{2, 3, 1, 1.0 / 3}, {0, 5, 0.66, 0.8}}, {},
                      {},           {}, {}};
  part.confused = {{2, 0, 2}, {0, 1, 1}};
  out.parts = {part, part};
  out.parts[1].part = "test";
  return out;
}

ModelAssessment of_numbers() {
  ModelAssessment out{TrialId{1}, "", 0, 2, {}};
  PartAssessment part{"validation", 2, 1, {}, {}, {}, {}, {}, {}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  part.residuals = {{0.5, 1.5, {-3, -2, -1, 0, 1, 2, std::numeric_limits<double>::infinity()}}, {nan, nan, {}}};
  part.actual = {1, 2, 3, 4};
  part.predicted = {1.5, nan, 2.5, 4.5};
  out.parts = {part};
  return out;
}

ModelAssessment of_labels() {
  ModelAssessment out{TrialId{3}, "def", 0, 4, {}, true};
  PartAssessment part{"test", 9, 1, {}, {{3, 0, 0, 0}, {1, 5, 0.5, 0.25}, {0, 8, 1, 0.875}}, {}, {}, {}, {}};
  out.parts = {part};
  return out;
}

TEST(ModelAssessment, UsesOwnLayoutForLabels) {
  EXPECT_EQ(assessment_json(of_classes()).at("v"), 1) << "older versions read it";
  EXPECT_EQ(assessment_json(of_labels()).at("v"), 2) << "older versions would look for residuals";
  EXPECT_TRUE(read_assessment(assessment_json(of_labels()).dump())->multilabel);
  EXPECT_FALSE(read_assessment(assessment_json(of_numbers()).dump())->multilabel);
  EXPECT_DOUBLE_EQ((ClassScore{0, 5, 0.5, 0.25}).f1(), 1.0 / 3);
  EXPECT_EQ((ClassScore{0, 5, 0, 0}).f1(), 0);
}

TEST(ModelAssessment, RoundTripsAsText) {
  for (const ModelAssessment& each : {of_classes(), of_numbers(), of_labels()}) {
    const std::string text = assessment_json(each).dump();

    const auto read = read_assessment(text);

    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(assessment_json(*read).dump(), text);
    EXPECT_EQ(read->trial, each.trial);
    EXPECT_EQ(read->parts.front().classes, each.parts.front().classes);
    EXPECT_EQ(read->parts.front().confused, each.parts.front().confused);
  }
}

TEST(ModelAssessment, RejectsInconsistentFields) {
  const auto refused = [](const std::function<void(nlohmann::json&)>& change, ModelAssessment of) {
    nlohmann::json json = assessment_json(of);
    change(json);
    const auto read = read_assessment(json.dump());
    return read ? Code::kInternal : read.error().code;
  };
  EXPECT_EQ(refused([](auto& j) { j["v"] = 3; }, of_classes()), Code::kFailedPrecondition);
  EXPECT_EQ(refused([](auto& j) { j["v"] = 2; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["v"] = 1; }, of_labels()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["labels"][0]["label"] = 4; }, of_labels()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["labels"][1]["rows"] = -1; }, of_labels()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["v"] = 0; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["trial"] = 0; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["part"] = "train"; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["confusion"].push_back(1); }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["confusion"][3] = -1; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["confusion"][3] = "1"; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["classes"][0]["label"] = 3; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["confused"][0]["prediction"] = 3; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["classes"] = 4'000'000'000; }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"].push_back(j["parts"][0]); }, of_classes()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["residuals"].erase(0); }, of_numbers()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["actual"].push_back(1); }, of_numbers()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["parts"][0]["predicted"].erase(0); }, of_numbers()), Code::kDataLoss);
  EXPECT_EQ(refused([](auto& j) { j["outputs"] = 0; }, of_numbers()), Code::kDataLoss);
  EXPECT_FALSE(read_assessment(""));
  EXPECT_FALSE(read_assessment("[]"));
  // More points than are ever written.
  ModelAssessment many = of_numbers();
  many.parts[0].actual.assign(PartAssessment::kMaxPoints + 2, 0);
  many.parts[0].predicted = many.parts[0].actual;
  EXPECT_FALSE(read_assessment(assessment_json(many).dump()));
}

TEST(ModelAssessment, RoundTripsOrRejectsAnyInput) {
  Rng rng = Rng(3).split("assessment");
  std::size_t read_again = 0;
  for (const ModelAssessment& each : {of_classes(), of_numbers()}) {
    const std::string text = assessment_json(each).dump();
    for (int round = 0; round < 4000; ++round) {
      std::string broken = text;
      for (std::uint64_t changes = 1 + rng.below(3); changes > 0; --changes) {
        const auto at = rng.below(broken.size());
        if (rng.bernoulli(0.3)) {
          broken.erase(at, 1 + rng.below(6));
        } else {
          broken[at] = "0123456789.-e,:\"[]{}nul"[rng.below(23)];
        }
      }
      const auto read = read_assessment(broken);
      if (!read) continue;
      ++read_again;
      const std::string written = assessment_json(*read).dump();
      const auto again = read_assessment(written);
      ASSERT_TRUE(again) << broken;
      EXPECT_EQ(assessment_json(*again).dump(), written);
    }
  }
  EXPECT_GT(read_again, 100U) << "too few inputs were read";
}

}  // namespace
}  // namespace lanista::study
