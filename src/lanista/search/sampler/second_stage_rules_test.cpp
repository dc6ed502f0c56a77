// Which trials a second stage ranks first, and which settings conflict with it.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/search/tuning/tuner.h"
#include "support/search/sampler/second_stage_test_support.h"

namespace lanista::search {
namespace {

using namespace testing;

// By the selected epoch, and feasible trials first.
TEST(SecondStage, RanksAsTheStudyDoes) {
  for (const bool best_epoch : {true, false}) {
    for (const bool bounded : {true, false}) {
      const Context context = staged_context(5, false);
      study::StudyConfig config = staged_config(context, 1, 9);
      config.train.measured.keep = best_epoch ? study::kKeepBestEpoch : study::kKeepLast;
      if (bounded) config.subject_to.push_back(must(study::Constraint::parse("val_loss <= 1")));
      auto strategy = must(with_second_stage(search_of(random_plugin(), context, "stopping"), config, context.models));
      const std::vector<std::vector<std::pair<double, double>>> measured{
          {{0.9, 2}, {0.5, 0.5}}, {{0.6, 0.5}, {0.6, 0.5}}, {{0.7, 0.9}, {0.1, 0.2}}};
      for (std::uint32_t id = 1; id <= 3; ++id) {
        strategy->observe(study::Proposed{TrialId{id}, must(strategy->suggest({1, 5 - id})).proposals().at(0)});
      }
      for (std::uint32_t id = 1; id <= 3; ++id) {
        for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
          const auto [accuracy, loss] = measured[id - 1][static_cast<std::size_t>(epoch - 1)];
          strategy->observe(
              study::Measured{{TrialId{id}, epoch, epoch, {{"val_accuracy", accuracy}, {"val_loss", loss}}}});
        }
        strategy->observe(study::Ended{TrialId{id}, {}});
      }
      const auto refinements = must(strategy->suggest({1, 1})).proposals();
      ASSERT_EQ(refinements.size(), 1U);
      const std::uint32_t wanted = !best_epoch ? 2 : bounded ? 3 : 1;
      EXPECT_EQ(refinements[0].parent, TrialId{wanted}) << best_epoch << bounded;
    }
  }
}

TEST(SecondStage, ReturnsSearchWithoutSecondStage) {
  const Context context = staged_context(1);
  study::StudyConfig config = staged_config(context, 1);
  config.strategy.then.reset();
  auto search = search_of(random_plugin(), context, "stopping");
  const Strategy* const before = search.get();
  EXPECT_EQ(must(with_second_stage(std::move(search), config, context.models)).get(), before);
  EXPECT_EQ(second_stage_conflict(config), std::nullopt);
}

TEST(SecondStage, RequiresMeasuredGoal) {
  const Context context = staged_context(1);
  study::StudyConfig config = staged_config(context, 1);
  config.goals = {{false, "params"}};
  const auto none = with_second_stage(search_of(random_plugin(), context, "stopping"), config, context.models);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().where, study::kThenKey);
}

TEST(SecondStage, ReportsConflictingOptions) {
  const auto refusal = [](const std::function<void(study::StudyConfig&)>& change) {
    study::StudyConfig config = staged_config(staged_context(1), 2);
    change(config);
    const auto refused = second_stage_conflict(config);
    EXPECT_EQ(refused ? refused->where : std::string(study::kThenKey), study::kThenKey);
    return refused ? refused->message : "";
  };
  using study::StudyConfig;
  EXPECT_EQ(refusal([](StudyConfig&) {}), "");
  EXPECT_EQ(refusal([](StudyConfig& c) { c.train.start.from = study::kStartFile; }), "");
  EXPECT_EQ(refusal([](StudyConfig& c) { c.train.schedule.name = "cosine"; }), "");
  EXPECT_EQ(refusal([](StudyConfig& c) { c.strategy.retry = 2; }), "");
  const std::vector<std::pair<std::string, std::function<void(StudyConfig&)>>> all{
      {"strategy pbt", [](StudyConfig& c) { c.strategy.name = "pbt"; }},
      {"train.tune", [](StudyConfig& c) { c.train.tune = c.strategy.then->tune; }},
      {"train.schedule: {from: DIR}", [](StudyConfig& c) { c.train.tune.name = study::kReplaySchedule; }},
      {"train.select", [](StudyConfig& c) { c.train.select.name = "random"; }},
      {"data.folds", [](StudyConfig& c) { c.data.folds = 3; }},
      {"strategy.repeat, which is 2", [](StudyConfig& c) { c.strategy.repeat = 2; }},
      {"implied", [](StudyConfig& c) { c.implied.emplace_back(); }},
      {"train.start: parent", [](StudyConfig& c) { c.train.start.from = study::kStartParent; }},
      {"train.start: zoo", [](StudyConfig& c) { c.train.start.from = study::kStartZoo; }},
      {"budget.steps", [](StudyConfig& c) { c.budget.steps = 100; }},
      {"takes the last 2 of budget.trials, which is 2", [](StudyConfig& c) { c.budget.trials = 2; }},
      {"give budget.trials", [](StudyConfig& c) { c.budget.trials.reset(); }},
      {"schedule cannot vary", [](StudyConfig& c) {
         LANISTA_CHECK(
             c.space.params.add({"schedule", space::Categorical{{space::Value(std::string("constant"))}}, {}}).ok(),
             "");
       }}};
  for (const auto& [part, change] : all) {
    EXPECT_NE(refusal(change).find(part), std::string::npos) << part << ": " << refusal(change);
  }
  // If the learning rate is not tuned, the schedule may vary. A finite space needs no budget.
  EXPECT_EQ(refusal([](StudyConfig& c) {
              c.strategy.then->tune.options = {{"params", {{"momentum", "range(0, 0.9)"}}}};
              LANISTA_CHECK(c.space.params.add({"warmup_epochs", space::FloatRange{0, 1, 0, false}, {}}).ok(), "");
            }),
            "");
  EXPECT_EQ(refusal([](StudyConfig& c) {
              c.space.params = {};
              c.budget.trials.reset();
            }),
            "");
}

}  // namespace
}  // namespace lanista::search
