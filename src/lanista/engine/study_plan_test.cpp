#include "lanista/engine/study_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lanista/engine/frozen.h"
#include "lanista/engine/records.h"
#include "lanista/engine/test_support.h"
#include "lanista/mutate/model_space.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::small_data;
using testing::small_study;

Result<StudyPlan> planned(const study::StudyConfig& config, const PlanRequest& request = {}) {
  MemoryFileSystem disk;
  const auto models = make_model_space(config, small_data(), ".", disk);
  LANISTA_CHECK(models.ok(), models ? "" : models.error().text());
  return plan_study(config, small_data(), *models, request);
}

study::StudyConfig one_model() {
  study::StudyConfig config = small_study();
  config.space.mutate.clear();
  config.strategy = {"random", 3, Options::object()};
  config.data.augment = {{"noise", {{"std", 0.5}}}};
  return config;
}

std::vector<std::int64_t> drawn(const StudyPlan& plan) {
  std::vector<std::int64_t> trials;
  for (const fuse::Member& member : plan.predicted.graph.members) trials.push_back(member.trial.value);
  return trials;
}

TEST(StudyPlan, TrialsOfOneModelAndOptimiserAreLanes) {
  study::StudyConfig config = one_model();
  config.space.params = {};
  ASSERT_TRUE(config.space.params.add({"lr", space::FloatRange{0.01, 0.5, 0, true}, {}}));
  const auto plan = planned(config);

  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(schedule::plan_text(plan->plan), "1-3");
  ASSERT_EQ(plan->predicted.groups.size(), 1U);
  EXPECT_EQ(plan->predicted.groups[0].form(), fuse::Form::kFused);
  EXPECT_EQ(drawn(*plan), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_NE(plan_text(*plan, false).find("group 1: trials 1 2 3, lanes of one program, "), std::string::npos);
}

TEST(StudyPlan, OtherOptimisersArePrograms) {
  const auto plan = planned(one_model(), {.trials = 8});

  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->plan.groups.size(), 2U) << "sgd and adam";
  EXPECT_NE(fuse::explain(plan->predicted).find("noise(std=0.5)"), std::string::npos) << "augmented samples are shared";
}

TEST(StudyPlan, LooksAtTheProposalsOfTheEngineItself) {
  study::StudyConfig config = small_study();
  Bench bench;
  ASSERT_TRUE(bench.run(config, {}));
  const auto plan = planned(config);

  ASSERT_TRUE(plan) << plan.error().text();
  const StudyView view = bench.view();
  for (const fuse::Member& member : plan->predicted.graph.members) {
    const auto& proposal = view.trials.at(member.trial.value - 1).proposal;
    EXPECT_EQ(graph::canonical_hash(member.model, graph::builtin_ops()), proposal.graph_hash) << member.trial.value;
  }
}

/// The plans of a study's log, in order.
std::vector<schedule::Plan> logged_plans(Bench& bench) {
  std::vector<schedule::Plan> plans;
  const auto records = store::read_log(bench.disk, testing::kFolder);
  EXPECT_TRUE(records);
  for (const store::Record& record : *records) {
    if (record.type != store::RecordType::kPlan) continue;
    const auto plan = read_plan(record.body);
    EXPECT_TRUE(plan) << plan.error().text();
    plans.push_back(*plan);
  }
  return plans;
}

TEST(StudyPlan, IsTheFirstThatTheEngineLogs) {
  for (const std::int64_t workers : {1, 2, 5}) {
    study::StudyConfig config = small_study();
    config.strategy.slots = 7;
    config.budget.trials = 10;
    Bench bench;
    bench.machine = {.workers = workers, .lanes = 3};
    ASSERT_TRUE(bench.run(config, {}));
    const auto plan = planned(config, {.machine = bench.machine});

    ASSERT_TRUE(plan) << plan.error().text();
    const auto logged = logged_plans(bench);
    ASSERT_FALSE(logged.empty());
    schedule::Plan several = plan->plan;
    std::erase_if(several.groups, [](const schedule::Group& group) { return group.trials.size() == 1; });
    EXPECT_EQ(logged.front(), several);
  }
}

TEST(StudyPlan, IsLoggedWheneverItChangesAndHoldsOnlyWhoIsUnderWay) {
  study::StudyConfig config = one_model();
  Bench bench;
  bench.machine = {.workers = 2};
  ASSERT_TRUE(bench.run(config, {.fail_one_in = 4}));

  const auto records = store::read_log(bench.disk, testing::kFolder);
  ASSERT_TRUE(records);
  std::set<TrialId> open;
  schedule::Plan last;
  int plans = 0;
  for (const store::Record& record : *records) {
    if (record.type == store::RecordType::kProposed) open.insert(TrialId{record.body["trial"].get<std::uint32_t>()});
    if (record.type == store::RecordType::kOutcome) open.erase(TrialId{record.body["trial"].get<std::uint32_t>()});
    if (record.type != store::RecordType::kPlan) continue;
    const auto plan = read_plan(record.body);
    ASSERT_TRUE(plan) << plan.error().text();
    std::set<TrialId> planned;
    for (const schedule::Group& group : plan->groups) {
      planned.insert(group.trials.begin(), group.trials.end());
      EXPECT_GT(group.trials.size(), 1U);
    }
    EXPECT_TRUE(std::ranges::includes(open, planned)) << schedule::plan_text(*plan);
    EXPECT_NE(*plan, last);
    last = *plan;
    ++plans;
  }
  EXPECT_GE(plans, 10);
}

TEST(StudyPlan, EndsWithTheSpace) {
  study::StudyConfig config = one_model();
  config.space.params = {};
  config.train.optimizer = "sgd";
  const auto plan = planned(config, {.trials = 5});

  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(drawn(*plan), (std::vector<std::int64_t>{1}));
  EXPECT_FALSE(plan->nothing_left.empty());
  EXPECT_NE(plan_text(*plan, false).find("no more: " + plan->nothing_left), std::string::npos);
}

// What is read again is read once a pass, whatever is called an epoch: two steps a pass, and 40 steps.
TEST(StudyPlan, CountsPassesOverTheRows) {
  study::StudyConfig config = one_model();
  config.train.steps_per_epoch = 5;
  config.train.epochs = 8;
  const auto plan = planned(config);
  ASSERT_TRUE(plan) << plan.error().text();
  for (const fuse::Member& member : plan->predicted.graph.members) EXPECT_EQ(member.recipe.epochs, 20);

  config.model.frozen = study::FrozenConfig{"x", "y"};
  config.budget.trials = 10;
  EXPECT_EQ(frozen_part(config, small_data(), {}, "").epochs, 10 * 8) << "augmented: read to be measured on";
  config.data.augment.clear();
  EXPECT_EQ(frozen_part(config, small_data(), {}, "").epochs, 10 * 20);
}

TEST(StudyPlan, KeepsToTheBudgetOfTrialsAndToMemory) {
  study::StudyConfig config = one_model();
  config.budget.trials = 2;
  const auto few = planned(config, {.trials = 9});
  ASSERT_TRUE(few) << few.error().text();
  EXPECT_EQ(drawn(*few).size(), 2U);

  const auto alone = planned(one_model(), {.trials = 3, .machine = {.bytes = 1}});
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_EQ(alone->plan.groups.size(), 3U);
  EXPECT_NE(plan_text(*alone, false).find("group 2: trial 2 alone, "), std::string::npos);
}

TEST(StudyPlan, RefusesToPlanNothing) {
  const auto plan = planned(one_model(), {.trials = 0});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
  EXPECT_EQ(plan.error().message, "a plan of 0 trials; at least 1 is needed");
}

TEST(StudyPlan, IsTheSameTwiceAndInBothForms) {
  const auto first = planned(small_study(), {.trials = 6}), again = planned(small_study(), {.trials = 6});
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(plan_text(*first, true), plan_text(*again, true));

  const auto json = plan_json(*first, false);
  std::size_t trials = 0;
  for (const auto& group : json["groups"]) trials += group["trials"].size();
  EXPECT_EQ(trials, json["trials"].get<std::size_t>());
  EXPECT_FALSE(json.contains("explained"));
  EXPECT_EQ(plan_json(*first, true)["explained"], fuse::explain(first->predicted));
}

}  // namespace
}  // namespace lanista::engine
