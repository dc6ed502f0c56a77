// Options of adaptive batches.
#include "lanista/search/tuning/adaptive_batch_rules.h"

#include <gtest/gtest.h>

#include "lanista/search/tuning/tuner.h"

namespace lanista::study {
namespace {

Recipe adaptive(std::int64_t from, nlohmann::json options, const std::string& optimizer = "sgd") {
  Recipe recipe;
  recipe.batch = from;
  recipe.optimizer = optimizer;
  recipe.tune = {std::string(kAdaptive), std::move(options)};
  return recipe;
}

TEST(AdaptiveBatchRules, AllowPowersOfTwoOfTheFirstBatch) {
  for (const std::int64_t from : {1, 3, 32, 100}) {
    for (std::int64_t most = 1; most <= 1700; ++most) {
      bool allowed = false;
      for (std::int64_t batch = from; batch <= most; batch += batch) allowed = allowed || batch == most;
      EXPECT_EQ(check_adaptive_batch(from, most).ok(), allowed) << from << " " << most;
      EXPECT_EQ(check_batches(adaptive(from, {{"most", most}})).ok(), allowed);
    }
  }
  EXPECT_NE(check_adaptive_batch(32, 100).error().message.find("such as 64"), std::string::npos);
  EXPECT_NE(check_adaptive_batch(32, 16).error().message.find("below 32"), std::string::npos);
  EXPECT_FALSE(check_adaptive_batch(3, kMaxBatch).ok()) << "the search for a power of two ends";
}

TEST(AdaptiveBatchRules, ScaleRateByOptimizer) {
  const auto rate = [](const std::string& optimizer, const std::string& rate_option) {
    return adaptive_batch_rules(adaptive(32, {{"most", 64}, {"rate", rate_option}}, optimizer))->rate;
  };
  for (const char* optimizer : {"sgd", "lion"})
    EXPECT_EQ(rate(optimizer, "auto"), RateScaling::kAdaScaleGain) << optimizer;
  for (const char* optimizer : {"adam", "adamw", "rmsprop"}) {
    EXPECT_EQ(rate(optimizer, "auto"), RateScaling::kSquareRoot) << optimizer;
  }
  EXPECT_EQ(rate("adam", "adascale"), RateScaling::kAdaScaleGain);
  EXPECT_EQ(rate("sgd", "sqrt"), RateScaling::kSquareRoot);
  EXPECT_EQ(rate("sgd", "linear"), RateScaling::kLinear);
  EXPECT_EQ(rate("sgd", "none"), RateScaling::kNone);
  EXPECT_FALSE(adaptive_batch_rules(adaptive(32, {{"most", 64}, {"rate", "cubic"}})));
  EXPECT_FALSE(adaptive_batch_rules(adaptive(32, nlohmann::json::object())));
}

TEST(AdaptiveBatchRules, ReserveLargestBatch) {
  EXPECT_EQ(largest_batch(adaptive(32, {{"most", 512}})), 512);
  EXPECT_EQ(largest_batch(adaptive(32, {{"most", 32}})), 32);
  EXPECT_FALSE(tunes_rate(adaptive(32, {{"most", 512}}).tune)) << "schedules still apply to its rate";
}

}  // namespace
}  // namespace lanista::study
