#include "lanista/engine/study_plan.h"

#include <gtest/gtest.h>

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
  for (const fuse::Member& member : plan.plan.graph.members) trials.push_back(member.trial.value);
  return trials;
}

TEST(StudyPlan, TrialsOfOneModelAndOptimiserAreLanes) {
  study::StudyConfig config = one_model();
  config.space.params = {};
  ASSERT_TRUE(config.space.params.add({"lr", space::FloatRange{0.01, 0.5, 0, true}, {}}));
  const auto plan = planned(config);

  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->plan.groups.size(), 1U);
  EXPECT_EQ(plan->plan.groups[0].form(), fuse::Form::kFused);
  EXPECT_EQ(drawn(*plan), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_NE(plan_text(*plan, false).find("lanes of one program: trials 1 2 3\n"), std::string::npos);
}

TEST(StudyPlan, OtherOptimisersArePrograms) {
  const auto plan = planned(one_model(), {.trials = 8});

  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->plan.groups.size(), 1U) << fuse::explain(plan->plan);
  EXPECT_EQ(plan->plan.groups[0].form(), fuse::Form::kPacked);
  EXPECT_EQ(plan->plan.groups[0].programs.size(), 2U) << "sgd and adam";
  EXPECT_NE(fuse::explain(plan->plan).find("noise(std=0.5)"), std::string::npos) << "augmented samples are shared";
}

TEST(StudyPlan, LooksAtTheProposalsOfTheEngineItself) {
  study::StudyConfig config = small_study();
  Bench bench;
  ASSERT_TRUE(bench.run(config, {}));
  const auto plan = planned(config);

  ASSERT_TRUE(plan) << plan.error().text();
  const StudyView view = bench.view();
  for (const fuse::Member& member : plan->plan.graph.members) {
    const auto& proposal = view.trials.at(member.trial.value - 1).proposal;
    EXPECT_EQ(graph::canonical_hash(member.model, graph::builtin_ops()), proposal.graph_hash) << member.trial.value;
  }
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

TEST(StudyPlan, KeepsToTheBudgetOfTrialsAndToMemory) {
  study::StudyConfig config = one_model();
  config.budget.trials = 2;
  const auto few = planned(config, {.trials = 9});
  ASSERT_TRUE(few) << few.error().text();
  EXPECT_EQ(drawn(*few).size(), 2U);

  const auto alone = planned(one_model(), {.trials = 3, .bytes = 1});
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_EQ(alone->plan.groups.size(), 3U);
  EXPECT_NE(plan_text(*alone, false).find("1 are allowed"), std::string::npos);
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
  for (const auto& group : json["groups"]) {
    for (const auto& program : group["programs"]) trials += program.size();
  }
  EXPECT_EQ(trials, json["trials"].get<std::size_t>());
  EXPECT_EQ(json["passes_left_out"], (nlohmann::json{"fan_out", "batch", "materialize"}));
  EXPECT_NE(plan_text(*first, false).find("fan_out, batch"), std::string::npos);
  EXPECT_FALSE(json.contains("explained"));
  EXPECT_EQ(plan_json(*first, true)["explained"], fuse::explain(first->plan));
}

}  // namespace
}  // namespace lanista::engine
