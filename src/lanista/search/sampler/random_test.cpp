#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::small_context;

/// Returns a space of `rates` x `momenta` points of one model.
Context points(std::uint64_t seed, std::int64_t rates, std::int64_t momenta) {
  Context context = small_context(seed, false);
  context.params = {};
  const auto add = [&](const char* name, std::int64_t count) {
    space::Categorical values;
    for (std::int64_t i = 1; i <= count; ++i) values.values.emplace_back(static_cast<double>(i) / 100);
    LANISTA_CHECK(context.params.add({name, values, {}}).ok(), "the test's own space");
  };
  add("lr", rates);
  add("momentum", momenta);
  return context;
}

/// Returns up to `most` proposals, with several per request.
std::vector<study::Proposal> proposed_of(const Context& context, std::int64_t most, bool again, std::uint64_t seed) {
  auto strategy = make(random_plugin(), context, {{"again", again}});
  std::vector<study::Proposal> out;
  Rng rng(seed);
  while (std::ssize(out) < most) {
    const std::int64_t asked = std::min(most - std::ssize(out), rng.between(1, 7));
    const auto suggestion = strategy->suggest({asked});
    if (!suggestion || suggestion->proposals().empty()) break;
    EXPECT_TRUE(!again || std::ssize(suggestion->proposals()) == asked);
    for (const study::Proposal& proposal : suggestion->proposals()) {
      out.push_back(proposal);
      strategy->observe(study::Proposed{TrialId{static_cast<std::uint32_t>(out.size())}, proposal});
    }
  }
  return out;
}

std::string text_of(const study::Proposal& proposal) { return space::sample_json(proposal.sample).dump(); }

TEST(RandomSearch, StopsWhenSpaceIsExhausted) {
  const auto proposals = proposed_of(points(3, 2, 3), 100, false, 1);
  std::set<std::string> samples;
  for (const study::Proposal& proposal : proposals) {
    samples.insert(text_of(proposal));
    EXPECT_EQ(proposal.repeat, 0);
  }
  EXPECT_EQ(proposals.size(), 6U);
  EXPECT_EQ(samples.size(), 6U);
}

// Every round has each point once, before any point of the next, whatever the number of trials per request.
TEST(RandomSearch, RepeatsExhaustedSpace) {
  Rng rng(17);
  for (int i = 0; i < 62; ++i) {
    // The last points of a round of 300 are found by enumeration.
    const std::int64_t rates = i < 60 ? rng.between(1, 4) : 20, momenta = i < 60 ? rng.between(1, 3) : 15;
    const std::int64_t size = rates * momenta;
    const std::int64_t most = i < 60 ? rng.between(1, 5 * size) : 2 * size + 7;
    const Context context = points(rng.next(), rates, momenta);
    const auto proposals = proposed_of(context, most, true, rng.next());
    ASSERT_EQ(std::ssize(proposals), most);
    std::map<std::string, std::int64_t> trained;
    std::set<Digest> keys;
    for (std::int64_t at = 0; at < most; ++at) {
      const study::Proposal& proposal = proposals[static_cast<std::size_t>(at)];
      EXPECT_EQ(proposal.repeat, at / size) << rates << " x " << momenta << ", number " << at;
      EXPECT_EQ(trained[text_of(proposal)]++, proposal.repeat);
      keys.insert(study::run_key(proposal));
    }
    EXPECT_EQ(std::ssize(keys), most) << "each is another training";
    // The first round is the same without the option.
    const auto once = proposed_of(context, most, false, 5);
    for (std::size_t at = 0; at < once.size(); ++at) EXPECT_EQ(text_of(once[at]), text_of(proposals[at]));
  }
}

TEST(RandomSearch, RepeatsNothingWithoutFeasiblePoint) {
  Context context = points(3, 2, 2);
  context.constraints = {*study::Constraint::parse("lr <= 0.001")};
  auto strategy = make(random_plugin(), context, {{"again", true}});
  const auto suggestion = strategy->suggest({4});
  ASSERT_TRUE(suggestion);
  EXPECT_EQ(suggestion->kind, Suggestion::Kind::kSpaceExhausted);

  context.constraints = {*study::Constraint::parse("lr <= 0.01")};
  const auto proposals = proposed_of(context, 7, true, 1);
  EXPECT_EQ(proposals.size(), 7U);
  for (const study::Proposal& proposal : proposals) EXPECT_EQ(std::get<double>(proposal.sample.at("lr")), 0.01);
}

}  // namespace
}  // namespace lanista::search
