#include "lanista/search/study/bracket_counts.h"

#include <gtest/gtest.h>

namespace lanista::study {
namespace {

TrialView with(std::vector<std::int64_t> rungs) {
  TrialView trial;
  trial.proposal.budget = rungs.empty() ? 27 : rungs.front();
  trial.proposal.horizon = 27;
  trial.rungs = std::move(rungs);
  return trial;
}

TEST(BracketCounts, CountTrialsByFirstAndFurtherRungs) {
  StudyView view;
  for (const auto& rungs : std::vector<std::vector<std::int64_t>>{{1}, {1, 3}, {3, 9, 27}, {1, 3, 9}, {3}, {}}) {
    view.trials.push_back(with(rungs));
  }
  const auto counts = bracket_counts(view);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].first, 1);
  EXPECT_EQ(counts[0].trials, 3);
  EXPECT_EQ(counts[0].further, (std::map<std::int64_t, std::int64_t>{{3, 2}, {9, 1}}));
  EXPECT_EQ(counts[1].first, 3);
  EXPECT_EQ(counts[1].trials, 2);
  EXPECT_EQ(counts[1].further, (std::map<std::int64_t, std::int64_t>{{9, 1}, {27, 1}}));
  EXPECT_EQ(counts[2].first, 27);
  EXPECT_EQ(counts[2].trials, 1);
  EXPECT_TRUE(counts[2].further.empty());
  EXPECT_EQ(rungs_text(view.trials[2]), "3 > 9 > 27");
  EXPECT_EQ(rungs_text(view.trials[5]), "");
}

TEST(BracketCounts, AreEmptyWithoutPausedTrials) {
  StudyView view;
  view.trials = {with({}), with({})};
  EXPECT_TRUE(bracket_counts(view).empty());
}

}  // namespace
}  // namespace lanista::study
