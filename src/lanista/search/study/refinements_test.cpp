#include "lanista/search/study/refinements.h"

#include <gtest/gtest.h>

#include "lanista/search/tuning/tuner.h"

namespace lanista::study {
namespace {

StudyConfig config_with(const char* tuned) {
  StudyConfig config;
  config.train.schedule.name = "cosine";
  config.train.schedule.warmup_epochs = 2;
  config.strategy.then = {{"mltuner", {{"params", {{tuned, {0.1, 0.2}}}}}}, 2, 5};
  return config;
}

Proposal searched() {
  Proposal out;
  out.graph_hash = hash_text("a model");
  out.sample = {{"lr", space::Value(0.25)}};
  out.budget = 1;
  out.horizon = 9;
  out.repeat = 1;
  return out;
}

TEST(Refinements, RetrainTrialFromStart) {
  const Proposal of = searched(), final = refinement_of(TrialId{7}, of);
  EXPECT_TRUE(final.is_refinement);
  EXPECT_EQ(final.parent, TrialId{7});
  EXPECT_EQ(final.budget, 9);
  EXPECT_EQ(full_epochs(final), 9);
  EXPECT_EQ(final.sample, of.sample);
  EXPECT_EQ(final.graph_hash, of.graph_hash);
  EXPECT_EQ(final.repeat, 0);
}

TEST(Refinements, HaveDistinctDecisionsKey) {
  Proposal of = searched();
  of.repeat = 0;
  Proposal final = refinement_of(TrialId{7}, of);
  EXPECT_NE(run_key(final), run_key(of));
  EXPECT_NE(decisions_key(final), decisions_key(of));
  final.is_refinement = false;
  EXPECT_EQ(run_key(final), run_key(of)) << "no other member counts";
}

TEST(Refinements, AreRecorded) {
  const auto text = proposal_json(refinement_of(TrialId{7}, searched()));
  EXPECT_EQ(text.at("tunes"), true);
  const auto read = proposal_from_json(text);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->is_refinement);
  EXPECT_EQ(proposal_json(*read), text);
  EXPECT_FALSE(proposal_json(searched()).contains("tunes"));
  auto lonely = text;
  lonely.erase("parent");
  EXPECT_EQ(proposal_from_json(lonely).error().code, Code::kDataLoss);
}

TEST(Refinements, UseConstantRateWhenTuningRate) {
  const StudyConfig config = config_with("lr");
  const Recipe plain = *recipe_of(config, "mse", searched()),
               final = *recipe_of(config, "mse", refinement_of(TrialId{1}, searched()));
  EXPECT_TRUE(plain.tune.name.empty());
  EXPECT_EQ(plain.schedule, "cosine");
  EXPECT_EQ(final.tune.name, "mltuner");
  EXPECT_EQ(final.tune.options, config.strategy.then->tune.options);
  EXPECT_EQ(final.schedule, "constant");
  EXPECT_EQ(final.warmup_epochs, 0);
  EXPECT_EQ(final.lr, 0.25) << "it begins with the rate of its trial";

  const Recipe other = *recipe_of(config_with("momentum"), "mse", refinement_of(TrialId{1}, searched()));
  EXPECT_EQ(other.tune.name, "mltuner");
  EXPECT_EQ(other.schedule, "cosine");
  EXPECT_EQ(other.warmup_epochs, 2);
}

TEST(Refinements, RequireSecondStage) {
  const auto none = recipe_of(StudyConfig{}, "mse", refinement_of(TrialId{1}, searched()));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kDataLoss);
  EXPECT_EQ(recipe_json(*recipe_of(StudyConfig{}, "mse", searched())),
            recipe_json(*make_recipe(StudyConfig{}, "mse", searched().sample)));
}

}  // namespace
}  // namespace lanista::study
