// Compares the cost model with the closed form of the paper, and its counts with a real selection.
#include "bench/selection_cost_model.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "lanista/exec/train/selection.h"
#include "lanista/io/data/random_selector.h"

namespace lanista::bench {
namespace {

TEST(SelectionCostModel, EqualsClosedFormWithoutOverhead) {
  struct Case {
    double r, kept, passes, faster;
  };
  // The gain of Selective-Backprop, r / (1/n + k r), to two digits.
  for (const Case& each : {Case{3, 1.0 / 2, 1, 1.20},
                           {3, 1.0 / 3, 1, 1.50},
                           {3, 1.0 / 4, 3, 2.77},
                           {4, 1.0 / 2, 1, 1.33},
                           {4, 1.0 / 3, 2, 2.18},
                           {4, 1.0 / 4, 3, 3.00}}) {
    const SelectionCosts parts{.forward = 1, .train = each.r};
    const double all = predict_epoch_milliseconds(parts, {.trained = 1});
    const double some =
        predict_epoch_milliseconds(parts, {.scored = 1 / each.passes, .chosen = 1, .trained = each.kept});
    EXPECT_NEAR(all / some, each.faster, 0.005) << each.r << " " << each.kept << " " << each.passes;
  }
}

TEST(SelectionCostModel, ScalesEachPartByItsWork) {
  const SelectionCosts parts{.read = 1, .forward = 10, .choose = 100, .queue = 1000, .train = 10'000};
  EXPECT_EQ(predict_epoch_milliseconds(parts, {}), 1);
  const SelectionWork work{.scored = 0.5, .chosen = 0.25, .trained = 2, .queued = 4};
  EXPECT_EQ(predict_epoch_milliseconds(parts, work), 24'031);
}

// The oracle is the selection itself, which counts the losses that it receives.
TEST(SelectionCostModel, CountsRequestedLosses) {
  constexpr std::int64_t kEpochs = 12, kBatches = 40, kBatch = 8, kRows = kBatches * kBatch;
  const std::vector<study::PluginConfig> selects{
      {"random", {{"keep", 0.5}}},
      {"selective", {{"beta", 1}}},
      {"selective", {{"beta", 0}}},
      {"selective", {{"beta", 2}, {"warmup_epochs", 4}, {"until", 0.7}}},
      {"selective", {{"beta", 1}, {"stale", 3}, {"warmup_epochs", 0}}},
      {"random", {{"keep", 0.5}, {"from", 0.3}, {"until", 0.9}, {"interrupt", 2}}},
      {"selective", {{"beta", 3}, {"interrupt", 4}}}};
  std::vector<std::int64_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  for (const study::PluginConfig& select : selects) {
    SCOPED_TRACE(select.name + " " + select.options.dump());
    study::Recipe recipe;
    recipe.epochs = kEpochs;
    recipe.batch = kBatch;
    recipe.select = select;
    auto selection = *train::Selection::make(recipe, {.seed = 3, .rows = kRows}, data::selectors_with_random());
    double counted = 0;
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      for (std::int64_t batch = 0; batch < kBatches; ++batch) {
        const train::DataPosition position{.step = epoch * kBatches + batch, .epoch = epoch, .pass = epoch};
        const auto some = std::span(rows).subspan(static_cast<std::size_t>(batch * kBatch), kBatch);
        selection.add_batch(position, some,
                            std::vector<double>(selection.requested_positions(position, some).size(), 1.0));
        selection.step_done();
      }
      const auto work = selection_work(select, kEpochs, epoch);
      ASSERT_TRUE(work) << work.error().text();
      counted += work->scored * kRows;
    }
    EXPECT_NEAR(counted, static_cast<double>(selection.num_losses_computed()), 1e-6);
  }
}

TEST(SelectionCostModel, RefusesUnknownSelectors) {
  EXPECT_EQ(selection_work({}, 9, 3)->scored, 0);
  EXPECT_EQ(selection_work({"selectiv", {}}, 9, 3).error().where, "selectiv");
}

}  // namespace
}  // namespace lanista::bench
