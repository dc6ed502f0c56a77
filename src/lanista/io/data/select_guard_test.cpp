#include "lanista/io/data/select_guard.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/io/data/selector.h"

namespace lanista::data {
namespace {

SelectGuard guard(Options options, std::int64_t epochs) { return **select_guard({"auto", std::move(options)}, epochs); }

TEST(SelectGuard, IsOfAutoAloneAndNotOfWhatWasFound) {
  EXPECT_FALSE(select_guard({}, 10)->has_value());
  EXPECT_FALSE(select_guard({"selective", Options::object()}, 10)->has_value());
  EXPECT_TRUE(select_guard({"auto", Options::object()}, 10)->has_value());
  study::Measurement measurement{TrialId{1}, 2, 20, {}};
  measurement.selecting = {{10, true, 5, 4, "val_loss", 1, true}, {10, false, 4, 4, "val_loss", 2, false}};
  const auto played = selecting_played_back({"auto", {{"beta", 2}}}, {&measurement, 1});
  EXPECT_FALSE(select_guard(played, 10)->has_value());
  EXPECT_EQ(played.options.at("beta"), 2);
  EXPECT_TRUE(make_selector(played, {}).ok());
  EXPECT_EQ(select_guard({"auto", {{"steps", 0}}}, 10).error().code, Code::kInvalidArgument);
}

TEST(SelectGuard, AsksFirstWhereSelectingBegins) {
  EXPECT_EQ(guard(Options::object(), 10).first, 1);
  EXPECT_EQ(guard({{"warmup_epochs", 3}}, 10).first, 3);
  EXPECT_EQ(guard({{"from", 0.55}}, 10).first, 6);
  EXPECT_EQ(guard({{"until", 0.85}}, 10).end, 9);
}

// Checks of a trial, epoch by epoch, are as many as are counted for it beforehand.
TEST(SelectGuard, CountsItsChecksAsATrialMakesThem) {
  Rng rng(4);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t epochs = rng.between(1, 12);
    const SelectGuard one = guard({{"warmup_epochs", rng.between(0, 4)},
                                   {"every", rng.between(0, 4)},
                                   {"until", static_cast<double>(rng.between(0, 4)) / 4}},
                                  epochs);
    std::vector<std::int64_t> asked;
    std::optional<std::int64_t> last;
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      if (!one.is_due(epoch, last)) continue;
      asked.push_back(epoch);
      last = epoch;
    }
    const std::int64_t from = rng.between(0, epochs), through = rng.between(from, epochs);
    std::int64_t within = 0;
    for (const std::int64_t epoch : asked) within += epoch >= from && epoch < through ? 1 : 0;
    ASSERT_EQ(one.checks(from, through), within) << round;
    ASSERT_EQ(one.checks(0, epochs), std::ssize(asked)) << round;
  }
}

TEST(SelectGuard, GivesUpNoMoreStepsThanAnEpochHas) {
  const SelectGuard ten = guard({{"steps", 10}}, 5);
  EXPECT_EQ(ten.most_given_up(100), 15);  // 10 (2 + 2) / (1 + 2), and a batch that waited
  EXPECT_EQ(ten.most_given_up(8), 7);
  EXPECT_EQ(ten.most_given_up(1), 0);
  EXPECT_EQ(ten.cost(30, 10), 60);
}

}  // namespace
}  // namespace lanista::data
