// The first proposals of every strategy and their outcomes are a promise: the same file and seed give the same trials
// in the next version too. An intended change renews the digest and has an entry in the changelog.
#include <gtest/gtest.h>

#include <string>

#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::small_study;

struct Golden {
  const char* strategy;
  const char* options;
  bool has_models;   // the others search hyper-parameters alone
  const char* last;  // digest of studies with keep: last, as it was before there was another
  const char* best;  // of those with keep: best_epoch
};

std::ostream& operator<<(std::ostream& out, const Golden& golden) { return out << golden.strategy; }

study::StudyConfig study_of(const Golden& golden, const std::string& rule, std::int64_t trials, std::string_view keep) {
  study::StudyConfig config = small_study(trials);
  config.train.keep = keep;
  config.strategy = {golden.strategy, 3, nlohmann::json::parse(golden.options)};
  config.stop.rule = rule;
  if (rule == "none") config.stop.options = Options::object();
  if (!golden.has_models) {
    config.space.mutate.clear();
    config.space.params = {};
    EXPECT_TRUE(config.space.params.add({"lr", space::FloatRange{0.01, 0.5, 0, true}, {}}));
    EXPECT_TRUE(config.space.params.add({"momentum", space::FloatRange{0, 0.9, 0.1, false}, {}}));
  }
  return *studyfile::read_study(studyfile::write_study(config), "golden.yaml");
}

class GoldenProposals : public ::testing::TestWithParam<Golden> {};

std::string digest_of(const Golden& golden, std::string_view keep) {
  Hasher hasher;
  for (const char* rule : {"none", "asha"}) {
    Bench bench;
    const std::int64_t trials = golden.strategy == std::string("gp") ? 25 : 50;  // it takes its time
    const auto end = bench.run(study_of(golden, rule, trials, keep), {.seed = 3, .fail_one_in = 9});
    if (!end) return end.error().text();
    const StudyView view = bench.view();
    if (std::ssize(view.trials) != trials) return "another number of trials";
    for (const TrialView& trial : view.trials) {
      hasher.text(study::proposal_json(trial.proposal).dump());
      hasher.number(static_cast<std::int64_t>(trial.measurements.size()))
          .text(study::outcome_name(trial.outcome->kind));
    }
  }

  return hasher.finish().hex();
}

TEST_P(GoldenProposals, MatchEarlierVersions) {
  EXPECT_EQ(digest_of(GetParam(), study::kKeepLast), GetParam().last);
  EXPECT_EQ(digest_of(GetParam(), study::kKeepBestEpoch), GetParam().best);
}

INSTANTIATE_TEST_SUITE_P(
    Every, GoldenProposals,
    ::testing::Values(
        Golden{"random", "{}", true, "a3ddfd9a436331f5eaf2e3f0b849fba4", "a3ddfd9a436331f5eaf2e3f0b849fba4"},
        Golden{"grid", "{}", false, "0321fae76776987f6200311e1147c180", "0321fae76776987f6200311e1147c180"},
        Golden{"sobol", "{}", false, "09a1905fb6c95ce56db147c07be5fadd", "09a1905fb6c95ce56db147c07be5fadd"},
        Golden{"evolution", R"({"population": 6})", true, "32d9e2f0f121ff20ef3529ec4ae6deda",
               "32d9e2f0f121ff20ef3529ec4ae6deda"},
        Golden{"tpe", "{}", true, "cf9e6beea8a5ba1414068021e7b3f8b5", "cf9e6beea8a5ba1414068021e7b3f8b5"},
        Golden{"gp", "{}", true, "c12c664ed981d15f1edd4b902f351f32", "18966f155e7d6e9e30075e5e1fc34ef5"},
        Golden{"cmaes", "{}", false, "0b22cd3a1bc537a173532f5f3ac7d14c", "0b22cd3a1bc537a173532f5f3ac7d14c"},
        Golden{"nsga2", R"({"population": 8})", true, "b89761a814ec3ceecf5a1d7c9c75992a",
               "b89761a814ec3ceecf5a1d7c9c75992a"},
        Golden{"local_search", "{}", true, "53b31a99f2392ffabcc12339b1108716", "53b31a99f2392ffabcc12339b1108716"},
        Golden{"policy_gradient", "{}", true, "ab47fda1f1007cfa663cdaacbe4bb0b6", "e23640821ae82bade24d6e7c23db857c"}),
    [](const auto& golden) { return std::string(golden.param.strategy); });

}  // namespace
}  // namespace lanista::engine
