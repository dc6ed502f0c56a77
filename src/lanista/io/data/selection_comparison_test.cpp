#include "lanista/io/data/selection_comparison.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/io/data/selector.h"

namespace lanista::data {
namespace {

SelectionComparison guard(Options options, std::int64_t epochs) {
  return **selection_comparison({"auto", std::move(options)}, epochs);
}

TEST(SelectionComparison, IsDueForAutoWithoutRecordedResultOnly) {
  EXPECT_FALSE(selection_comparison({}, 10)->has_value());
  EXPECT_FALSE(selection_comparison({"selective", Options::object()}, 10)->has_value());
  EXPECT_TRUE(selection_comparison({"auto", Options::object()}, 10)->has_value());
  study::Measurement measurement{TrialId{1}, 2, 20, {}};
  measurement.selecting = {{10, true, 5, 4, "val_loss", 1, true}, {10, false, 4, 4, "val_loss", 2, false}};
  const auto played = with_recorded_selection({"auto", {{"beta", 2}}}, {&measurement, 1});
  EXPECT_FALSE(selection_comparison(played, 10)->has_value());
  EXPECT_EQ(played.options.at("beta"), 2);
  EXPECT_TRUE(make_selector(played, {}).ok());
  EXPECT_EQ(selection_comparison({"auto", {{"steps", 0}}}, 10).error().code, Code::kInvalidArgument);
}

TEST(SelectionComparison, ComparesFirstWhenSelectionStarts) {
  EXPECT_EQ(guard(Options::object(), 10).first, 1);
  EXPECT_EQ(guard({{"warmup_epochs", 3}}, 10).first, 3);
  EXPECT_EQ(guard({{"from", 0.55}}, 10).first, 6);
  EXPECT_EQ(guard({{"until", 0.85}}, 10).end, 9);
}

// The number of comparisons of a trial, epoch by epoch, is the number that is counted in advance.
TEST(SelectionComparison, CountsComparisonsLikeTrial) {
  Rng rng(4);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t epochs = rng.between(1, 12);
    const SelectionComparison one = guard({{"warmup_epochs", rng.between(0, 4)},
                                           {"every", rng.between(0, 4)},
                                           {"until", static_cast<double>(rng.between(0, 4)) / 4}},
                                          epochs);
    std::vector<std::int64_t> requested;
    std::optional<std::int64_t> last;
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      if (!one.is_due(epoch, last)) continue;
      requested.push_back(epoch);
      last = epoch;
    }
    const std::int64_t from = rng.between(0, epochs), through = rng.between(from, epochs);
    std::int64_t within = 0;
    for (const std::int64_t epoch : requested) within += epoch >= from && epoch < through ? 1 : 0;
    ASSERT_EQ(one.count_checks(from, through), within) << round;
    ASSERT_EQ(one.count_checks(0, epochs), std::ssize(requested)) << round;
  }
}

TEST(SelectionComparison, DiscardsAtMostStepsOfEpoch) {
  const SelectionComparison ten = guard({{"steps", 10}}, 5);
  EXPECT_EQ(ten.max_discarded_steps(100), 15);  // 10 (2 + 2) / (1 + 2), and a batch that waited
  EXPECT_EQ(ten.max_discarded_steps(8), 7);
  EXPECT_EQ(ten.max_discarded_steps(1), 0);
  EXPECT_EQ(ten.cost(30, 10), 60);
}

}  // namespace
}  // namespace lanista::data
