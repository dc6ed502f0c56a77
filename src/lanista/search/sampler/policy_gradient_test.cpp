#include <gtest/gtest.h>

#include "lanista/search/math/policy.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::must;
using testing::small_context;

TEST(Policy, StartsUniformAndFollowsGradientStep) {
  Policy policy;
  EXPECT_EQ(policy.probabilities("x", 4), std::vector<double>(4, 0.25));
  policy.reinforce("x", 2, 0, 0.5, 1, 0);  // The logits are 0.25 and -0.25.
  const double want = 1 / (1 + portable_exp(-0.5));
  EXPECT_NEAR(policy.probabilities("x", 2)[0], want, 1e-15);
  EXPECT_NEAR(policy.probabilities("x", 2)[1], 1 - want, 1e-15);
  EXPECT_EQ(policy.probabilities("x", 4), std::vector<double>(4, 0.25));  // Another decision.
}

TEST(Policy, FollowsTheGradientOfAdvantageAndEntropy) {
  // Central differences of 0.7 log p(2) + 0.3 H in the logits.
  const auto objective = [](const std::vector<double>& l) {
    double sum = 0, h = 0;
    for (const double x : l) sum += portable_exp(x);
    for (const double x : l) h -= portable_exp(x) / sum * (x - portable_log(sum));
    return 0.7 * (l[2] - portable_log(sum)) + 0.3 * h;
  };
  Policy policy;
  for (std::int64_t i = 0; i < 3; ++i) policy.reinforce("x", 3, i, 1, 0.6 - 0.2 * static_cast<double>(i), 0);
  const std::vector<double> before = policy.probabilities("x", 3);
  std::vector<double> at;
  for (const double p : before) at.push_back(portable_log(p));
  policy.reinforce("x", 3, 2, 0.7, 1, 0.3);
  const std::vector<double> after = policy.probabilities("x", 3);
  for (std::size_t i = 0; i < 3; ++i) {
    auto up = at, down = at, up0 = at, down0 = at;
    up[i] += 1e-5, down[i] -= 1e-5, up0[0] += 1e-5, down0[0] -= 1e-5;
    const double gradient = (objective(up) - objective(down)) / 2e-5;
    const double first = (objective(up0) - objective(down0)) / 2e-5;
    // Logits are determined up to a constant, so differences are compared.
    const double step = portable_log(after[i] / after[0]) - portable_log(before[i] / before[0]);
    EXPECT_NEAR(step, gradient - first, 1e-8) << i;
  }
}

TEST(Policy, SamplesItsProbabilities) {
  Policy policy;
  policy.reinforce("x", 3, 1, 1, 2, 0);
  std::vector<int> seen(3);
  constexpr int kNumSamples = 3000;
  for (std::uint64_t i = 0; i < kNumSamples; ++i)
    ++seen[static_cast<std::size_t>(policy.sample("x", 3, Rng(1).split(i)))];
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(seen[i], kNumSamples * policy.probabilities("x", 3)[i], 100);
  }
}

TEST(PolicyGradient, LearnsWhichMutatorHelps) {
  Context context = small_context(1);
  context.goals = {{false, "loss"}};
  auto strategy = make(policy_gradient_plugin(), context, {{"mutations", {1, 2}}});
  int early = 0, late = 0;
  for (std::uint32_t id = 1; id <= 120; ++id) {
    const study::Proposal proposal = must(strategy->suggest({1})).proposals().at(0);
    int widened = 0;
    for (const auto& step : proposal.steps) widened += step.mutator == "widen" ? 1 : 0;
    (id <= 40 ? early : late) += id <= 40 || id > 80 ? static_cast<int>(widened == 2) : 0;
    testing::feed_trial(*strategy, id, proposal, {{"loss", -widened}});
  }
  EXPECT_GT(late, early + 5);
}

/// Returns the number of wrong answers of the best trial, averaged over 20 seeds. There are ten decisions among four
/// answers, one of them conditional, and each has one right answer.
double wrong_answers(const StrategyPlugin& plugin, const nlohmann::json& options, std::uint32_t trials) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Context context = small_context(seed, false);
    context.goals = {{false, "loss"}};
    const space::Value on(std::int64_t{3});
    for (int i = 0; i < 10; ++i) {
      std::vector<space::Parameter::Condition> when;
      if (i == 9) when = {{"p0", {on}}};
      LANISTA_CHECK(context.params.add({"p" + std::to_string(i), space::IntRange{0, 3, 1, false}, when}).ok(), "toy");
    }
    auto strategy = make(plugin, context, options);
    double lowest = 100;
    for (std::uint32_t id = 1; id <= trials; ++id) {
      const auto group = must(strategy->suggest({1}));
      const space::Sample sample = group.proposals().at(0).sample;
      double loss = 10;
      for (const auto& [name, value] : sample) loss -= name[0] == 'p' && value == on ? 1 : 0;
      lowest = std::min(lowest, loss);
      testing::feed_trial(*strategy, id, group.proposals()[0], {{"loss", loss}});
    }
    sum += lowest;
  }
  return sum / 20;
}
// Random search has 3.4 wrong answers, the policy 0.3.
TEST(PolicyGradient, BeatsRandomSearchOnSeparableDecisions) {
  const double random = wrong_answers(random_plugin(), Options::object(), 150);
  EXPECT_LT(wrong_answers(policy_gradient_plugin(), Options::object(), 150), random - 2);
}

}  // namespace
}  // namespace lanista::search
