#include "lanista/study/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/rng.h"

namespace lanista::study {
namespace {

// The ends of the score interval are where the share lies 1.96 deviations of a binomial with that end from it.
TEST(ScoreInterval, EndsWhereTheShareIsJustUnlikely) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t rows = rng.between(1, 5000);
    const double share = static_cast<double>(rng.between(0, rows)) / static_cast<double>(rows);
    const Interval interval = score_interval(share, rows);
    ASSERT_LE(interval.low, share + 1e-15);
    ASSERT_GE(interval.high, share - 1e-15);
    for (const double end : {interval.low, interval.high}) {
      if (end < 1e-12 || end > 1 - 1e-12) continue;  // the share itself, 0 or 1
      const double deviation = std::sqrt(end * (1 - end) / static_cast<double>(rows));
      ASSERT_NEAR(std::fabs(share - end) / deviation, 1.959963984540054, 1e-6) << share << " of " << rows;
    }
  }
}

StudyView view_of(const std::vector<double>& accuracies, std::int64_t rows) {
  StudyView view;
  view.config.goals = {{true, "val_accuracy"}};
  view.data = {{"split_rows", {10, rows, 10}}};
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(i + 1)};
    trial.measurements.push_back({trial.id, 1, 1, {{"val_accuracy", accuracies[i]}, {"val_loss", 0.5}}});
    trial.outcome = Outcome{OutcomeKind::kSucceeded, "", {}, "", {}};
    view.trials.push_back(std::move(trial));
  }
  return view;
}

TEST(NoiseBand, CountsTheTrialsThatRowsDoNotTellApart) {
  // Of 100 rows 0.95 lies between 0.8882 and 0.9785.
  const StudyView view = view_of({0.95, 0.89, 0.888, 0.5, 0.95}, 100);
  const auto band = noise_band(view, standings(view));
  ASSERT_TRUE(band.has_value());
  EXPECT_EQ(band->rows, 100);
  EXPECT_EQ(band->trials, 3);
  EXPECT_NEAR(band->band.low, 0.88825, 1e-5);
  EXPECT_NEAR(band->band.high, 0.97846, 1e-5);
}

TEST(NoiseBand, IsOfSharesOfRowsAlone) {
  StudyView view = view_of({0.95, 0.9}, 100);
  const auto none = [&] { return !noise_band(view, standings(view)).has_value(); };
  EXPECT_FALSE(none());
  view.config.goals = {{false, "val_loss"}};
  EXPECT_TRUE(none());
  view.config.goals = {{true, "val_accuracy"}, {false, "params"}};
  EXPECT_TRUE(none());
  view.config.goals = {{true, "val_accuracy"}};
  view.data["multilabel"] = true;
  EXPECT_TRUE(none()) << "labels of one row are no rows";
  view.data["multilabel"] = false;
  view.config.strategy.repeat = 2;
  EXPECT_TRUE(none());
  view.config.strategy.repeat = 1;
  view.trials.clear();
  EXPECT_TRUE(none());
  EXPECT_FALSE(noise_band(StudyView(), {}).has_value());
}

}  // namespace
}  // namespace lanista::study
