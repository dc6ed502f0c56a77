#include "lanista/app/report/facts.h"

#include <gtest/gtest.h>

#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using testing::small_study;

std::string shown(const std::vector<Axis>& all) {
  std::string text;
  for (const Axis& axis : all) text += axis.name + " " + space::domain_text(axis.domain) + "\n";
  return text;
}

TEST(Axes, MergesDomainsOfSameName) {
  EXPECT_EQ(shown(axes(small_study())),
            "optimizer choice(sgd, adam)\n"
            "lr log(1e-04, 0.5)\n"
            "momentum quant(0, 0.95, 0.05)\n"
            "warmup_epochs int(0, 7, 2)\n"
            "nesterov choice(false, true)\n");
}

TEST(Axes, IncludesNamesOutsideSpace) {
  study::StudyView view = small_study();
  view.trials[0].proposal.sample["lr"] = 2.0;
  view.trials[1].proposal.sample["beta1"] = 0.9;
  view.trials[2].proposal.sample["momentum"] = std::string("none");

  EXPECT_EQ(shown(axes(view)),
            "optimizer choice(sgd, adam)\n"
            "lr choice(0.001, 0.25, 2)\n"
            "momentum choice(0.5, none)\n"
            "warmup_epochs int(0, 7, 2)\n"
            "nesterov choice(false, true)\n"
            "beta1 choice(0.9)\n");
}

TEST(TrialTimes, SumsSpansAndEpochEnds) {
  study::StudyView view = small_study();
  view.spans.push_back({TrialId{1}, 2, 1, 3.0, 3.25});
  view.spans.push_back({TrialId{99}, 1, 1, 0, 1});

  const auto times = trial_times(view);

  ASSERT_EQ(times.size(), view.trials.size());
  EXPECT_EQ(times[0].began, 0);
  EXPECT_EQ(times[0].ended, 3.25);
  EXPECT_EQ(times[0].seconds, 1.25);
  EXPECT_EQ(times[0].epochs, (std::map<std::int64_t, double>{{1, 0.5}, {2, 3.25}}));
  EXPECT_EQ(times[3].seconds, 0);
}

TEST(MeasuredTrial, ReturnsOriginalOfDuplicate) {
  const study::StudyView view = small_study();
  EXPECT_EQ(measured_trial(view, view.trials[3]).id, TrialId{1});
  EXPECT_EQ(measured_trial(view, view.trials[1]).id, TrialId{2});
}

TEST(Ranks, OmitsUnrankedTrials) {
  using Rank = std::optional<std::int64_t>;
  EXPECT_EQ(ranks(small_study()), (std::vector<Rank>{2, 1, std::nullopt, std::nullopt, std::nullopt}));
}

TEST(BaseName, FallsBackToTheNumber) {
  study::StudyView view = small_study();
  EXPECT_EQ(base_name(view, view.trials[0].proposal), "small-mlp");
  view.trials[0].proposal.base = 7;
  EXPECT_EQ(base_name(view, view.trials[0].proposal), "base 7");
}

TEST(ValidUtf8, ReplacesStrayBytes) {
  EXPECT_EQ(valid_utf8("a\xff\x62 \xc3\xa4"),
            "a\xef\xbf\xbd"
            "b \xc3\xa4");
  EXPECT_EQ(valid_utf8(std::string_view("a\0b", 3)), std::string("a\0b", 3));
}

}  // namespace
}  // namespace lanista::report
