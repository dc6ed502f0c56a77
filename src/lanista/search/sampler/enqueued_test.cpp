// Configurations that are tried first.
#include "lanista/search/sampler/enqueued.h"

#include <gtest/gtest.h>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using nlohmann::json;
using testing::blueprint_context;
using testing::must;
using testing::small_context;
using testing::text_of;

TEST(Enqueued, KeepsGivenValuesAndSamplesTheRest) {
  const Context context = small_context(4);
  const auto proposals = must(enqueued(
      context, json::array({{{"optimizer", "sgd"}, {"lr", 0.1}}, {{"momentum", 0}}, {{"optimizer", "adam"}}})));
  ASSERT_EQ(proposals.size(), 3U);
  EXPECT_EQ(proposals[0].sample.at("lr"), space::Value(0.1));
  EXPECT_TRUE(proposals[0].sample.contains("momentum"));
  // An integer is accepted for a real parameter. Its parent parameter is sampled until the given one is active.
  EXPECT_EQ(proposals[1].sample.at("momentum"), space::Value(0.0));
  EXPECT_EQ(proposals[1].sample.at("optimizer"), space::Value(std::string("sgd")));
  for (const study::Proposal& each : proposals) {
    EXPECT_TRUE(context.params.check(each.sample).ok());
    EXPECT_EQ(each.budget, context.epochs);
    EXPECT_TRUE(each.steps.empty());
  }
  EXPECT_EQ(must(enqueued(context, json::array({{{"optimizer", "adam"}}})))[0].sample,
            must(enqueued(context, json::array({{{"optimizer", "adam"}}})))[0].sample);
}

TEST(Enqueued, SetsChoicesOfTheModel) {
  const Context context = blueprint_context(2);
  const auto proposals =
      must(enqueued(context, json::array({{{"model.width", 8}, {"model.act", "relu"}, {"model.depth", 1}}})));
  EXPECT_EQ(proposals[0].sample.at("model.width"), space::Value(std::int64_t{8}));
  const auto graph = context.models->rebuild(proposals[0].base, proposals[0].edits);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph::canonical_hash(*graph, context.models->ops()), proposals[0].graph_hash);
}

TEST(Enqueued, ReportsInvalidValueAndItsPlace) {
  Context context = small_context(4, false);
  const auto where = [&](const json& given) {
    const auto answer = enqueued(context, json::array({{{"lr", 0.1}}, given}));
    EXPECT_FALSE(answer.ok());
    return answer ? std::string() : answer.error().where + ": " + answer.error().message;
  };
  EXPECT_EQ(where({{"momentun", 0.5}}),
            "[1].momentun: is no parameter of the space; there are optimizer, lr, momentum (did you mean "
            "'momentum'?)");
  EXPECT_EQ(where({{"optimizer", "adam"}, {"momentum", 0.5}}),
            "[1].momentum: does not exist with the configuration's other values");
  EXPECT_EQ(where({{"optimizer", "sgd"}, {"lr", 7}}), "[1].lr: 7 is not in log(0.01, 0.5)");
  EXPECT_EQ(where({{"optimizer", "lion"}}).substr(0, 33), "[1].optimizer: \"lion\" is not in c");
  context.constraints = {must(study::Constraint::parse("momentum <= 0.4"))};
  EXPECT_EQ(where({{"momentum", 0.5}}), "[1]: breaks 'momentum <= 0.4'");
}

class AfterEnqueued : public testing::SamplerTest {};

TEST_P(AfterEnqueued, ContinuesLikeStrategyThatProposedThemItself) {
  for (const StrategyPlugin& plugin : builtin_strategies()) {
    if (plugin.name != GetParam()) continue;
    const Context context = small_context(9, false);
    const auto first = must(enqueued(context, json::array({{{"lr", 0.02}}, {{"lr", 0.03}}, {{"lr", 0.04}}})));
    const auto make = [&] {
      return must(plugin.make(context, must(resolve_options(Options::object(), plugin.options))));
    };
    auto queued = with_enqueued_first(make(), first);
    auto plain = make(), resumed = with_enqueued_first(make(), first);
    // More trials are requested than enqueued. All enqueued ones come first, and no other before they are proposed.
    const auto group = must(queued->sample_proposals(5)).proposals();
    ASSERT_EQ(group.size(), 3U);
    EXPECT_EQ(must(queued->sample_proposals(2)).proposals().size(), 2U);
    for (std::uint32_t id = 1; id <= 20; ++id) {
      const auto next = must(queued->sample_proposals(1)).proposals().at(0);
      if (id <= 3) {
        EXPECT_EQ(study::proposal_json(next), study::proposal_json(first[id - 1]));
      } else {
        EXPECT_EQ(study::proposal_json(next), study::proposal_json(must(plain->sample_proposals(1)).proposals().at(0)));
        EXPECT_EQ(study::proposal_json(next),
                  study::proposal_json(must(resumed->sample_proposals(1)).proposals().at(0)));
      }
      for (Sampler* each : {queued.get(), plain.get(), resumed.get()}) {
        testing::feed_trial(*each, id, next, {{"acc", 0.1 * (id % 5)}, {"loss", 0.2 * (id % 3)}});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, AfterEnqueued, ::testing::ValuesIn(testing::sampler_names()));

}  // namespace
}  // namespace lanista::search
