#include "lanista/app/report/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/app/report/page_assets.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using study::OutcomeKind;
using study::StudyView;

/// A trial that ended at `second` with these last values.
void ended(StudyView& view, double second, std::map<std::string, double> metrics,
           OutcomeKind kind = OutcomeKind::kSucceeded) {
  study::TrialView trial;
  trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
  trial.measurements.push_back({trial.id, 1, 10, std::move(metrics)});
  trial.outcome = study::Outcome{kind, "", {}, "", {}};
  view.spans.push_back({trial.id, 1, 0, second - 1, second});
  view.trials.push_back(std::move(trial));
  view.steps += 10;
  view.seconds = std::max(view.seconds, second);
}

StudyView study_with(std::vector<study::Goal> goals) {
  StudyView view;
  view.config.goals = std::move(goals);
  view.end_reason = "budget";
  return view;
}

TEST(Compare, FollowsBestInOrderOfEnds) {
  StudyView a = study_with({{true, "val_accuracy"}}), b = a;
  ended(a, 3, {{"val_accuracy", 0.5}});
  ended(a, 1, {{"val_accuracy", 0.4}});  // trial 2 ended first
  ended(a, 4, {{"val_accuracy", 0.45}});
  ended(a, 5, {{"val_accuracy", 0.9}}, OutcomeKind::kFailed);
  ended(a, 8, {{"val_accuracy", 0.7}}, OutcomeKind::kStopped);
  a.trials.emplace_back();  // under way
  ended(b, 2, {{"val_accuracy", std::nan("")}});
  ended(b, 4, {{"val_accuracy", 0.6}});

  const StudyComparison found = compare({{"a", &a, ""}, {"b", &b, ""}});

  ASSERT_EQ(found.measures.size(), 1U);
  EXPECT_TRUE(found.notes.empty());
  const auto& best = found.studies[0].best[0];
  ASSERT_EQ(best.size(), 3U);
  EXPECT_EQ(best[0].trial, TrialId{2});
  EXPECT_EQ(best[1].trial, TrialId{1});
  EXPECT_EQ(best[1].trainings, 2);
  EXPECT_EQ(best[1].seconds, 3);
  EXPECT_EQ(best[2].trainings, 5);
  EXPECT_EQ(best[2].value, 0.7);
  EXPECT_EQ(found.studies[0].trainings, 5);
  EXPECT_EQ(found.studies[0].trials, 6U);
  EXPECT_EQ(found.studies[0].failed, 1U);
  ASSERT_EQ(found.studies[1].best[0].size(), 1U);
  EXPECT_EQ(found.studies[1].best[0][0].trainings, 2);
  EXPECT_EQ(best_after_trainings(best, 4), 0.5);
  EXPECT_EQ(best_after_seconds(best, 2.9), 0.4);
  EXPECT_FALSE(best_after_trainings(best, 0));
  EXPECT_EQ(training_milestones(found), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(seconds_milestones(found), (std::vector<double>{1, 2, 4}));
}

TEST(Compare, RanksViolatedConstraintsLower) {
  StudyView a = study_with({{false, "val_loss"}});
  a.config.subject_to = {*study::Constraint::parse("train_loss <= 100")};
  ended(a, 1, {{"val_loss", 0.1}, {"train_loss", 200}});
  ended(a, 2, {{"val_loss", 0.5}, {"train_loss", 50}});
  ended(a, 3, {{"val_loss", 0.2}, {"train_loss", 300}});

  const StudyComparison found = compare({{"a", &a, ""}, {"again", &a, ""}});

  EXPECT_EQ(found.studies[0].best[0].back().value, 0.5);
  EXPECT_TRUE(found.differences.empty());
}

TEST(Compare, UsesCommonMetricsWhenGoalsDiffer) {
  StudyView a = study_with({{true, "val_accuracy"}}), b = study_with({{false, "val_loss"}, {false, "mine"}});
  ended(a, 1, {{"val_accuracy", 0.5}, {"val_loss", 2}, {"mine", 1}, {"odd", 1}, {"train_loss", 1}});
  ended(b, 1, {{"val_loss", 3}, {"mine", 2}, {"odd", 2}, {"train_loss", 1}});

  const StudyComparison found = compare({{"a", &a, ""}, {"b", &b, ""}});

  std::vector<std::string> names;
  for (const auto& measure : found.measures) {
    names.push_back(measure.metric);
    EXPECT_FALSE(measure.maximize) << measure.metric;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"val_loss", "mine", "train_loss"})) << "the direction of odd is unknown";
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("a: maximize val_accuracy; b: minimize val_loss, minimize mine"), std::string::npos)
      << found.notes[0];

  StudyView c = study_with({{true, "mine"}});
  ended(c, 1, {{"mine", 1}});
  const StudyComparison against = compare({{"b", &b, ""}, {"c", &c, ""}});
  EXPECT_TRUE(against.measures.empty()) << "one study maximises it, the other minimises it";
  EXPECT_NE(against.notes[0].find("share no metric"), std::string::npos);
  EXPECT_EQ(compare_json(against)["studies"][0]["best"], json::array());
}

TEST(Compare, NotesDifferentMeaningOfEqualMetrics) {
  StudyView a = study_with({{true, "val_accuracy"}}), b = a, c = a, d = a;
  a.data = b.data = c.data = {{"hash", "1"}};
  d.data = {{"hash", "2"}};
  b.config.data.split = {0.8, 0.1, 0.1};
  c.config.train.loss.name = "focal";
  c.end_reason.reset();
  const auto notes = [&](const StudyView& other) { return compare({{"a", &a, ""}, {"b", &other, ""}}).notes; };

  EXPECT_NE(notes(b).at(0).find("split"), std::string::npos);
  EXPECT_NE(notes(c).at(0).find("losses"), std::string::npos);
  EXPECT_NE(notes(c).at(1).find("Not every study has ended"), std::string::npos);
  EXPECT_NE(notes(d).at(0).find("different data"), std::string::npos);
}

TEST(Compare, FindsDifferentSettings) {
  const StudyView view = study_with({{true, "val_accuracy"}});
  const std::string a =
      "schema: 1\nname: one\ndata:\n  batch: 32\nspace:\n  mutate:\n    - widen: {}\n    - deepen: {}\n  params:\n"
      "    optimizer:\n      sgd:\n        lr: log(0.1, 1)\n      adam:\n        lr: log(0.01, 1)\ngoal:\n  - maximize "
      "x\n";
  const std::string b =
      "schema: 1\nname: two\ndata:\n  batch: 32\nspace:\n  mutate:\n    - widen: {}\n  params:\n"
      "    optimizer:\n      sgd:\n        lr: log(0.1, 1)\n      adam:\n        lr: log(0.02, 1)\nextra: \"a: "
      "b\"\ngoal:\n"
      "  - maximize x\n";

  const StudyComparison found = compare({{"a", &view, a}, {"b", &view, b}});

  std::map<std::string, std::vector<std::string>> result;
  for (const auto& difference : found.differences) result[difference.key] = difference.values;
  EXPECT_EQ(result, (std::map<std::string, std::vector<std::string>>{
                        {"name", {"one", "two"}},
                        {"space.mutate", {"widen: {}, deepen: {}", "widen: {}"}},
                        {"space.params.optimizer.adam.lr", {"log(0.01, 1)", "log(0.02, 1)"}},
                        {"extra", {"", "\"a: b\""}}}));
}

TEST(Compare, HandlesEmptyStudies) {
  const StudyView empty = study_with({{true, "val_accuracy"}});
  const StudyView odd = testing::small_study(), random = testing::random_study(80, 3);

  const json result =
      compare_json(compare({{"empty", &empty, ""}, {"odd", &odd, "::\n- - x\n  : \n"}, {"r", &random, ""}}));

  EXPECT_TRUE(result["studies"][0]["best"][0]["value"].is_null());
  EXPECT_EQ(result["studies"][1]["best"][0]["value"], 0.875);
  EXPECT_EQ(result["trainings"], json::array());
  const auto& curve = result["studies"][2]["best"][0]["curve"];
  EXPECT_TRUE(std::is_sorted(curve["value"].begin(), curve["value"].end()));
  EXPECT_EQ(curve["value"].back(), result["studies"][2]["best"][0]["value"]);
}

TEST(ComparePage, EscapesStudyTextsInDocument) {
  const std::string attack = "</script><script>alert(1)</script><!--";
  StudyView view = testing::random_study(30, 5);
  view.end_reason = attack;
  view.test = {{attack, 1}};
  const StudyComparison comparison = compare({{attack, &view, "name: " + attack}, {"b", &view, "name: b"}});

  const std::string page = compare_page(comparison, attack);

  EXPECT_EQ(page, compare_page(comparison, attack));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</html>\n"));
  EXPECT_NE(page.find("script-src '" + std::string(compare_script_hash()) + "'; style-src"), std::string::npos);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  const auto scripts = [&](const std::string& what) {
    std::size_t found = 0;
    for (auto at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(scripts("<script"), 2U);
  EXPECT_EQ(scripts("</script"), 2U);
  EXPECT_EQ(scripts("innerHTML") + scripts("https://"), 0U);
}

}  // namespace
}  // namespace lanista::report
