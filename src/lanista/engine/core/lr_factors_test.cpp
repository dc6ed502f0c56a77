// Parts of models that train at factors of the learning rate: which nodes they are, in every model of a study.
#include "lanista/engine/core/lr_factors.h"

#include <gtest/gtest.h>

#include "lanista/engine/core/study_setup.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/mutator.h"
#include "support/engine/core/custom_strategy_study.h"

namespace lanista::engine {
namespace {

using LrFactors = std::map<graph::NodeId, double>;

const graph::OpTable& ops() {
  static const graph::OpTable table = graph::builtin_ops();
  return table;
}

graph::Graph net() {
  return *graph::parse(
      "%0 = input(shape=[6])\n%1 = linear(%0, out=8) \"stem\"\n%2 = relu(%1)\n%3 = linear(%2, out=8)\n"
      "%4 = relu(%3) \"features\"\n%7 = linear(%2, out=8) \"side\"\n%8 = add(%4, %7)\n%5 = linear(%8, out=3)\n"
      "%6 = output(%5)\n");
}

study::TrainConfig train_config(std::map<std::string, double> rates) {
  study::TrainConfig train;
  train.rates = std::move(rates);
  return train;
}

double factor_of(const LrFactors& rates, std::uint32_t node) {
  const auto found = rates.find(graph::NodeId{node});
  return found == rates.end() ? 1 : found->second;
}

TEST(LrFactors, CoverNodeAndItsInputs) {
  const LrFactors rates = lr_factors_of(train_config({{"features", 0.5}, {"stem", 0.25}, {"head", 2}}), net());
  EXPECT_EQ(factor_of(rates, 1), 0.25) << "the part inside the other counts";
  EXPECT_EQ(factor_of(rates, 3), 0.5);
  EXPECT_EQ(factor_of(rates, 7), 1) << "no part holds it";
  EXPECT_EQ(factor_of(rates, 5), 2);
}

TEST(LrFactors, BaseCoversAllButLastLayer) {
  const LrFactors rates = lr_factors_of(train_config({{"base", 0.1}, {"%1", 0.01}}), net());
  EXPECT_EQ(factor_of(rates, 1), 0.01);
  for (const std::uint32_t node : {3U, 7U, 8U}) EXPECT_EQ(factor_of(rates, node), 0.1);
  EXPECT_EQ(factor_of(rates, 5), 1);
}

TEST(LrFactors, RefuseAmbiguousParts) {
  const auto error_of = [](const std::map<std::string, double>& rates, const std::set<graph::NodeId>& frozen = {}) {
    const auto checked = check_rates(train_config(rates), net(), frozen, ops());
    return checked ? std::string() : checked.error().where + ": " + checked.error().message;
  };
  EXPECT_EQ(error_of({{"stem", 0.1}, {"features", 0.5}, {"base", 0.2}, {"head", 3}}), "");
  EXPECT_EQ(error_of({{"stem", 0}}),
            "train.rates.stem: is 0, which trains nothing; model.frozen sets what is not trained");
  EXPECT_EQ(error_of({{"stem", -0.5}}), "train.rates.stem: is -0.5; it must be above 0, and at most 1000000");
  EXPECT_NE(error_of({{"stem", NAN}}), "");
  EXPECT_NE(error_of({{"stem", INFINITY}}), "");
  EXPECT_NE(error_of({{"stem", 2e6}}), "");
  EXPECT_EQ(error_of({{"feature", 0.1}}),
            "train.rates.feature: the base has no node 'feature'; its nodes are %0 to %8 (did you mean 'features'?)");
  EXPECT_EQ(error_of({{"%0", 0.1}}), "train.rates.%0: holds nothing that is trained");
  EXPECT_EQ(error_of({{"stem", 0.1}}, {graph::NodeId{0}, graph::NodeId{1}}),
            "train.rates.stem: holds nothing that is trained; model.frozen names the frozen nodes");
  EXPECT_EQ(error_of({{"%1", 0.1}, {"stem", 0.2}}), "train.rates.stem: is the same part as %1");
  EXPECT_EQ(
      error_of({{"features", 0.1}, {"side", 0.2}}),
      "train.rates.side: shares %0 with features, and neither part contains the other, so the factor is ambiguous");
}

// The last layers with weights, with any nodes after them or in parallel.
TEST(LrFactors, HeadCoversLastWeightedLayers) {
  const graph::Graph model = *graph::parse(
      "%0 = input(shape=[6])\n%1 = linear(%0, out=8)\n%2 = relu(%1)\n%3 = linear(%2, out=3)\n%4 = linear(%1, out=3)\n"
      "%5 = add(%3, %4)\n%6 = sigmoid(%5)\n%7 = output(%6)\n");
  const LrFactors rates = lr_factors_of(train_config({{"head", 2}, {"base", 0.5}}), model);
  EXPECT_EQ(factor_of(rates, 3), 2);
  EXPECT_EQ(factor_of(rates, 4), 2);
  EXPECT_EQ(factor_of(rates, 1), 0.5);
  const graph::Graph single = *graph::parse("%0 = input(shape=[6])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n");
  EXPECT_EQ(check_rates(train_config({{"base", 0.5}}), single, {}, ops()).error().message,
            "holds nothing that is trained");
}

// Mutations keep a named node, and the part is then everything that the node depends on.
TEST(LrFactors, FollowNodesInMutatedModels) {
  std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
  for (const auto& plugin : mutate::builtin_mutators()) {
    const auto options = resolve_options(Options::object(), plugin.options);
    if (options) mutators.push_back(*plugin.make(*options));
  }
  auto space = *mutate::ModelSpace::make(ops(), {{"net", net()}}, mutators, {}, {});
  const study::TrainConfig train = train_config({{"features", 0.5}, {"stem", 0.25}});
  space.keep_labels(*check_rates(train, net(), {}, ops()));
  int grown = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto child = space.mutate(space.base(0), 4, Rng(seed));
    if (!child) continue;
    const LrFactors rates = lr_factors_of(train, child->graph);
    EXPECT_EQ(factor_of(rates, 4), 0.5) << graph::to_text(child->graph);
    EXPECT_EQ(factor_of(rates, 1), 0.25) << graph::to_text(child->graph);
    EXPECT_EQ(factor_of(rates, 5), 1);
    for (const auto& [id, factor] : rates) grown += id.value > 8;
  }
  EXPECT_GT(grown, 20) << "new layers inside a part train as it does";
}

TEST(LrFactors, AreInJobsOfStudy) {
  study::StudyConfig config = testing::small_study(4);
  config.train.rates = {{"base", 0.5}};
  testing::Bench bench;
  ASSERT_TRUE(bench.run(config, {.seed = 3}).ok());
  const StudyView view = bench.view();
  for (const TrialView& trial : view.trials) {
    const Job job = *make_job(view.config, bench.data, trial, *study::trial_model(view, trial, ops()));
    EXPECT_EQ(job.recipe.rates, lr_factors_of(config.train, job.model));
    EXPECT_FALSE(job.recipe.rates.empty());
  }
  config.train.rates = {{"base", 0.5}, {"%1", 0}};
  testing::Bench other;
  const auto refused = other.run(config, {.seed = 3});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().where, "train.rates.%1");
}

}  // namespace
}  // namespace lanista::engine
