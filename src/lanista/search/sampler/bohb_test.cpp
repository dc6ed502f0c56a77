// The model of BOHB: when it exists, for which budget, and what it learns.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::must;
using testing::small_context;
using testing::text_of;
using testing::unit_cube;

constexpr double kQuietNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::unique_ptr<Sampler> sampler(const StrategyPlugin& plugin, const Context& context, const nlohmann::json& options) {
  return must(plugin.make(context, must(resolve_options(options, plugin.options))));
}

/// The model alone, next to random search on the same events: they differ as soon as there is a model.
struct Pair {
  explicit Pair(const Context& context)
      : model(sampler(bohb_plugin(), context, {{"random_fraction", 0.0}})),
        random(sampler(bohb_plugin(), context, {{"random_fraction", 1.0}})) {}

  void feed_event(const study::Event& event) {
    model->observe(event);
    random->observe(event);
  }
  study::Proposal next() const { return must(model->sample_proposals(1)).proposals().at(0); }
  bool has_model() const {
    return text_of(must(model->sample_proposals(1))) != text_of(must(random->sample_proposals(1)));
  }

  TrialId begin(study::Proposal proposal) {
    const TrialId id{++count};
    feed_event(study::Proposed{id, std::move(proposal)});
    return id;
  }
  /// Trains a new trial to `epoch`, where it pauses, or ends if that is all.
  TrialId train(study::Proposal proposal, std::int64_t epoch, double loss) {
    const std::int64_t all = proposal.budget;
    proposal.horizon = all;
    proposal.budget = epoch;
    const TrialId id = begin(std::move(proposal));
    for (std::int64_t e = 1; e <= epoch; ++e) feed_event(study::Measured{{id, e, e, {{"loss", loss}}}});
    epoch < all ? feed_event(study::Paused{id, epoch}) : feed_event(study::Ended{id, {}});
    return id;
  }
  void fail(study::Proposal proposal) {
    study::Outcome outcome;
    outcome.kind = study::OutcomeKind::kFailed;
    feed_event(study::Ended{begin(std::move(proposal)), outcome});
  }

  std::unique_ptr<Sampler> model, random;
  std::uint32_t count = 0;
};

TEST(Bohb, BuildsModelAtTwiceDimensionPlusOneResults) {
  for (const int d : {1, 2, 5}) {
    Pair whole(unit_cube(3, d, 9));
    for (int n = 0; n < 2 * (d + 1); ++n) {
      EXPECT_FALSE(whole.has_model()) << d << " dimensions, " << n << " results";
      whole.train(whole.next(), 9, 0.1 * n);
    }
    EXPECT_TRUE(whole.has_model()) << d;

    // So many results at epoch 3 and at the end are too few for each budget. Trials that trained to the end count at
    // epoch 3 as well.
    Pair parts(unit_cube(4, d, 9));
    for (int n = 0; n < d; ++n) parts.train(parts.next(), 3, 0.1 * n);
    for (int n = 0; n < d + 1; ++n) parts.train(parts.next(), 9, 0.1 * n);
    EXPECT_FALSE(parts.has_model()) << d;
    parts.train(parts.next(), 3, 0.5);
    EXPECT_TRUE(parts.has_model()) << d;
  }
}

TEST(Bohb, UsesModelOfLargestBudget) {
  // At one epoch x near 0.2 is best, at nine epochs x near 0.8.
  Pair pair(unit_cube(1, 1, 9));
  const auto at = [&](double x) {
    study::Proposal proposal = pair.next();
    proposal.sample["x0"] = x;
    return proposal;
  };
  const auto mean_next = [&] {
    double sum = 0;
    for (const study::Proposal& each : must(pair.model->sample_proposals(20)).proposals()) {
      sum += std::get<double>(each.sample.at("x0")) / 20;
    }
    return sum;
  };
  for (int i = 0; i < 40; ++i) pair.train(at((i + 0.5) / 40), 1, std::abs((i + 0.5) / 40 - 0.2));
  EXPECT_NEAR(mean_next(), 0.2, 0.08);
  for (int i = 0; i < 3; ++i) pair.train(at(0.26 + 0.2 * i), 9, std::abs(0.26 + 0.2 * i - 0.8));
  EXPECT_NEAR(mean_next(), 0.2, 0.08) << "three results make no model of one dimension";
  for (int i = 3; i < 40; ++i) pair.train(at((i + 0.25) / 40), 9, std::abs((i + 0.25) / 40 - 0.8));
  EXPECT_NEAR(mean_next(), 0.8, 0.08);
}

TEST(Bohb, CountsPromotedTrialsAtEachBudget) {
  Pair pair(unit_cube(4, 1, 9));
  const TrialId first = pair.train(pair.next(), 3, 0.1);
  for (int i = 0; i < 2; ++i) pair.train(pair.next(), 3, 0.2 + i);
  EXPECT_FALSE(pair.has_model());
  // The first one continues. Its result of epoch 3 stays, so one more makes four.
  pair.feed_event(study::Resumed{first, 3, 9});
  for (std::int64_t e = 4; e <= 9; ++e) pair.feed_event(study::Measured{{first, e, e, {{"loss", 0.05}}}});
  pair.feed_event(study::Ended{first, {}});
  EXPECT_FALSE(pair.has_model());
  pair.train(pair.next(), 3, 0.3);
  EXPECT_TRUE(pair.has_model());
}

TEST(Bohb, CountsFailuresAndNanAsBad) {
  for (const double lost : {kQuietNan, kInfinite}) {
    Pair pair(unit_cube(5, 1, 9));
    pair.train(pair.next(), 9, 0.5);
    for (int i = 0; i < 6; ++i) pair.train(pair.next(), 9, lost);
    pair.fail(pair.next());
    EXPECT_FALSE(pair.has_model()) << "one good result is too few";
    pair.train(pair.next(), 9, -kInfinite);
    EXPECT_TRUE(pair.has_model()) << "minus infinity is the best there is";
  }
  Pair pair(unit_cube(6, 1, 9));
  for (int i = 0; i < 2; ++i) pair.train(pair.next(), 9, 0.5);
  pair.fail(pair.next());
  EXPECT_FALSE(pair.has_model());
  pair.fail(pair.next());
  EXPECT_TRUE(pair.has_model());
}

TEST(Bohb, AvoidsRegionsWhereTrialsFail) {
  Pair pair(unit_cube(2, 1, 9));
  for (int i = 0; i < 40; ++i) {
    study::Proposal proposal = pair.next();
    const double x = (i + 0.5) / 40;
    proposal.sample["x0"] = x;
    x < 0.5 ? pair.fail(proposal) : static_cast<void>(pair.train(proposal, 9, 1));
  }
  for (const study::Proposal& each : must(pair.model->sample_proposals(30)).proposals()) {
    EXPECT_GT(std::get<double>(each.sample.at("x0")), 0.4);
  }
}

TEST(Bohb, ProposesConfiguredShareAtRandom) {
  const Context context = unit_cube(8, 1, 9);
  auto bohb = sampler(bohb_plugin(), context, Options::object());
  auto random = sampler(bohb_plugin(), context, {{"random_fraction", 1.0}});
  int equal = 0;
  for (std::uint32_t id = 1; id <= 300; ++id) {
    const auto next = must(bohb->sample_proposals(1));
    if (id > 4 && text_of(next) == text_of(must(random->sample_proposals(1)))) ++equal;
    const study::Proposed proposed{TrialId{id}, next.proposals().at(0)};
    for (Sampler* each : {bohb.get(), random.get()}) {
      each->observe(proposed);
      each->observe(study::Measured{{proposed.trial, 9, 9, {{"loss", 0.1 * (id % 7)}}}});
      each->observe(study::Ended{proposed.trial, {}});
    }
  }
  EXPECT_NEAR(equal, 296 / 3.0, 30);
}

TEST(Bohb, ProposesGoodConditionalParameters) {
  // The mean loss of the second half of 60 proposals, without random ones: the best of 60 random samples is good.
  const auto mean_loss = [](double random_fraction) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Context context = small_context(seed, false);
      context.goals = {{false, "loss"}};
      auto bohb = sampler(bohb_plugin(), context, {{"random_fraction", random_fraction}});
      for (std::uint32_t id = 1; id <= 60; ++id) {
        const study::Proposed proposed{TrialId{id}, must(bohb->sample_proposals(1)).proposals().at(0)};
        const double loss = testing::toy_loss(proposed.proposal.sample);
        bohb->observe(proposed);
        bohb->observe(study::Measured{{proposed.trial, 4, 4, {{"loss", loss}}}});
        bohb->observe(study::Ended{proposed.trial, {}});
        if (id > 30) sum += loss / 300;
      }
    }
    return sum;
  };
  EXPECT_LT(mean_loss(0), 0.3 * mean_loss(1));
}

}  // namespace
}  // namespace lanista::search
