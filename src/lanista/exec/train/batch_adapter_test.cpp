// When a batch changes by its gradient noise, to which, and with which rate: against the formulas written out here.
#include "lanista/exec/train/batch_adapter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/step_profile.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

const graph::Graph& model() {
  static const graph::Graph graph = *graph::parse(
      "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=12)\n%3 = linear(%2, out=10)\n%4 = "
      "output(%3)\n");
  return graph;
}

study::Recipe recipe_of(std::int64_t from, std::int64_t most, const std::string& rate = "auto") {
  study::Recipe recipe;
  recipe.optimizer = "sgd";
  recipe.precision = "float32";
  recipe.batch = from;
  recipe.tune = {std::string(study::kAdaptive), {{"most", most}, {"rate", rate}}};
  return recipe;
}

BatchAdapter adapter_of(std::int64_t from, std::int64_t most, const std::string& rate = "auto") {
  return *BatchAdapter::make(model(), ops(), recipe_of(from, most, rate));
}

/// Adds gradients of this size and noise without spread, so that the averages equal them up to rounding.
void tell(BatchAdapter& adapter, double sqr, double var, std::int64_t from, std::int64_t rows, std::int64_t times) {
  const double of_row = var * static_cast<double>(from);  // trace of the covariance of a row's gradient
  for (std::int64_t i = 0; i < times; ++i) {
    adapter.note(sqr + of_row / static_cast<double>(adapter.small_rows()), sqr + of_row / static_cast<double>(rows),
                 rows);
  }
}

// Goodput by the noise scale: M / (a + b M) times (phi + M0) / (phi + M).
TEST(ChooseBatch, NeedsFivePercentGainAndLimitsTheChange) {
  Rng rng(3);
  int stayed = 0, rose = 0, fell = 0, held_back = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t from = rng.between(1, 40), doublings = rng.between(0, 8), most = from << doublings;
    const std::int64_t now = from << rng.between(0, doublings);
    const UpdateCost cost{std::exp(rng.uniform(-12.0, -5.0)), std::exp(rng.uniform(-14.0, -9.0))};
    const goodput::GradientStats noise{std::exp(rng.uniform(-4.0, 2.0)), std::exp(rng.uniform(-6.0, 4.0))};
    const double phi = static_cast<double>(from) * noise.var / noise.sqr;
    const auto goodput = [&](std::int64_t batch) {
      const auto m = static_cast<double>(batch), m0 = static_cast<double>(from);
      return m / (cost.fixed_seconds + cost.seconds_per_row * m) * (phi + m0) / (phi + m);
    };
    std::int64_t best = now;
    for (std::int64_t batch = from; batch <= most; batch *= 2) best = goodput(batch) > goodput(best) ? batch : best;
    const bool worth = goodput(best) > 1.05 * goodput(now);

    const auto chosen = choose_batch(noise, cost, from, most, now);

    ASSERT_EQ(chosen.has_value(), worth) << i;
    if (!worth) {
      ++stayed;
      continue;
    }
    const std::int64_t wanted = std::min(std::max(best, now / 4), 4 * now);
    EXPECT_EQ(chosen->batch, wanted) << best << " from " << now;
    EXPECT_NEAR(chosen->goodput_gain, goodput(wanted) / goodput(now), 1e-9);
    EXPECT_GT(chosen->goodput_gain, 1);
    (best > now ? rose : fell) += 1;
    held_back += wanted == best ? 0 : 1;
  }
  EXPECT_GT(stayed, 300);
  EXPECT_GT(rose, 300);
  EXPECT_GT(fell, 300);
  EXPECT_GT(held_back, 30);
}

TEST(BatchAdapter, WaitsForMeasurementsThenFollowsTheNoise) {
  BatchAdapter adapter = adapter_of(4, 64);
  tell(adapter, 1, 100, 4, 4, BatchAdapter::kMinMeasurements - 1);
  EXPECT_FALSE(adapter.choose(4, 1000));
  tell(adapter, 1, 100, 4, 4, 1);
  const auto rises = adapter.choose(4, 1000);
  ASSERT_TRUE(rises);
  EXPECT_EQ(rises->batch, 16) << "four times the size of the current batch at most";
  EXPECT_EQ(adapter.choose(4, 10)->batch, 8) << "no more than a pass has";
  tell(adapter, 1, 100, 4, 16, 60);
  const auto further = adapter.choose(16, 1000);
  ASSERT_TRUE(further);
  EXPECT_GT(further->batch, 16);
  EXPECT_FALSE(adapter.choose(further->batch, 1000));
  // Gradients without noise: one row has the information of many.
  tell(adapter, 1, 1e-9, 4, 64, 3000);
  const auto falls = adapter.choose(64, 1000);
  ASSERT_TRUE(falls);
  EXPECT_EQ(falls->batch, 16);
}

TEST(BatchAdapter, EstimatesNoiseAtAnyBatchSize) {
  Rng rng(8);
  BatchAdapter adapter = adapter_of(24, 24 * 64);
  for (int i = 0; i < 200; ++i) tell(adapter, 2, 5, 24, 24 << rng.between(0, 6), 1);
  EXPECT_NEAR(adapter.noise().total().sqr, 2, 1e-9);
  EXPECT_NEAR(adapter.noise().total().var, 5, 1e-9);
}

TEST(BatchAdapter, AppliesTheConfiguredRateRule) {
  const auto factor = [](const std::string& rate) {
    BatchAdapter adapter = adapter_of(32, 512, rate);
    tell(adapter, 1, 3, 32, 32, 10);
    return adapter.lr_factor(256);
  };
  EXPECT_NEAR(factor("auto"), (3.0 + 1) / (3.0 / 8 + 1), 1e-9);
  EXPECT_EQ(factor("adascale"), factor("auto"));
  EXPECT_NEAR(factor("sqrt"), std::sqrt(8.0), 1e-12);
  EXPECT_EQ(factor("linear"), 8);
  EXPECT_EQ(factor("none"), 1);
}

// Few measurements may give a negative |g|^2.
TEST(BatchAdapter, BoundsTheGradientNormFromBelow) {
  for (const std::int64_t times : {1, 8, 20, 64, 500}) {
    BatchAdapter adapter = adapter_of(32, 512, "adascale");
    for (std::int64_t i = 0; i < times; ++i) adapter.note(8, 0.5, 32);  // n = 8: (8 * 0.5 - 8) / 7 < 0
    EXPECT_EQ(adapter.noise().total().sqr, 0);
    const double var = 7.5 / 7, least = var / static_cast<double>(std::min(times, BatchAdapter::kAveragedMeasurements));
    EXPECT_NEAR(adapter.gradient_stats().var, var, 1e-9);
    EXPECT_NEAR(adapter.gradient_stats().sqr, least, 1e-9);
    EXPECT_NEAR(adapter.lr_factor(512), (var + least) / (var / 16 + least), 1e-9);
  }
  BatchAdapter adapter = adapter_of(32, 512);
  tell(adapter, 1, 3, 32, 32, 10);
  EXPECT_EQ(adapter.gradient_stats(), adapter.noise().total()) << "the averages are used";
}

// Updates of any batch from any step on: the counting here goes one step at a time.
TEST(BatchAdapter, EndsChunksBeforeTheMeasuredUpdate) {
  const BatchAdapter adapter = adapter_of(32, 32 << 7);
  for (const std::int64_t stride : {1, 2, 4, 8, 16, 32, 128}) {
    for (std::int64_t step = 0; step < 200; ++step) {
      std::int64_t unmeasured = 0;
      for (std::int64_t at = step;; at += stride, ++unmeasured) {
        bool meets = false;
        for (std::int64_t s = at + 1; s <= at + stride; ++s)
          meets = meets || s % BatchAdapter::kStepsPerMeasurement == 0;
        EXPECT_EQ(adapter.is_measured(at, stride, 32 * stride), meets);
        if (meets) break;
      }
      EXPECT_EQ(BatchAdapter::max_updates_in_chunk(step, stride), std::max<std::int64_t>(1, unmeasured)) << step;
    }
  }
  EXPECT_FALSE(adapter.is_measured(BatchAdapter::kStepsPerMeasurement - 1, 1, 7)) << "too few rows for two gradients";
  EXPECT_TRUE(adapter.is_measured(BatchAdapter::kStepsPerMeasurement - 1, 1, 8));
}

TEST(BatchAdapter, RestoresExactlyFromItsText) {
  Rng rng(4);
  for (int i = 0; i < 50; ++i) {
    BatchAdapter whole = adapter_of(32, 512);
    for (std::int64_t times = rng.between(0, 30); times > 0; --times) {
      whole.note(std::exp(rng.uniform(-20.0, 5.0)), std::exp(rng.uniform(-20.0, 5.0)), 32 << rng.between(0, 4));
    }
    BatchAdapter back = adapter_of(32, 512);
    ASSERT_TRUE(back.restore(whole.text()));
    whole.note(0.1, 0.01, 64);
    back.note(0.1, 0.01, 64);
    EXPECT_EQ(back.text(), whole.text());
    EXPECT_EQ(back.noise().total(), whole.noise().total());
    EXPECT_EQ(back.noise().steps(), whole.noise().steps());
  }
}

TEST(BatchAdapter, RefusesMalformedText) {
  BatchAdapter adapter = adapter_of(32, 512);
  for (const char* text :
       {"", "[]", "[1,2,3]", "[1,2,3,-1]", "[1,2,\"x\",4]", "[1,2,3,4.5]", "{\"a\":1}", "[1,2,3,4,5]"}) {
    EXPECT_EQ(adapter.restore(text).error().code, Code::kDataLoss) << text;
  }
}

TEST(UpdateCost, IsOneStepPlusTheOptimizerPass) {
  for (const std::int64_t rows : {1, 7, 300}) {
    study::Recipe recipe = recipe_of(rows, rows);
    for (const auto& [optimizer, slots] : {std::pair{"sgd", 1}, {"adam", 2}}) {
      recipe.optimizer = optimizer;
      const auto shape = *study::step_shape(model(), ops(), recipe);
      const double update = shape.parameters * (3 + 2 * slots) * 4 / 1e10;
      EXPECT_NEAR(update_cost(model(), ops(), recipe)->seconds(rows), shape.nominal_step() + update,
                  1e-12 * shape.nominal_step());
    }
  }
}

}  // namespace
}  // namespace lanista::train
