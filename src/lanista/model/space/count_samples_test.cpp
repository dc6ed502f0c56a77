#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lanista/model/space/chooser.h"
#include "lanista/model/space/domain.h"

namespace lanista::space {
namespace {

void put(SearchSpace& space, Parameter parameter) {
  const auto added = space.add(std::move(parameter));
  ASSERT_TRUE(added.ok()) << added.error().text();
}

Value number(std::int64_t v) { return v; }
Domain upto(std::int64_t n) { return IntRange{1, n}; }

/// Counts by visiting all indices of a grid.
double walked(const SearchSpace& space) {
  std::set<std::string> seen;
  const auto end = static_cast<std::uint64_t>(space.largest_branch(1));
  for (std::uint64_t i = 0; i < end; ++i) {
    GridChooser choose(i, 1);
    const Sample sample = space.sample(choose);
    if (!choose.exhausted()) seen.insert(sample_json(sample).dump());
  }
  return static_cast<double>(seen.size());
}

TEST(SearchSpace, AcceptsParameterWithSeveralConditions) {
  SearchSpace space;
  put(space, {"a", upto(3), {}});
  put(space, {"b", upto(4), {}});
  put(space, {"k", upto(5), {{"a", {number(2), number(3)}}, {"b", {number(4)}}}});

  EXPECT_TRUE(is_active(space.parameters()[2], {{"a", number(3)}, {"b", number(1)}}));
  EXPECT_TRUE(is_active(space.parameters()[2], {{"a", number(1)}, {"b", number(4)}}));
  EXPECT_FALSE(is_active(space.parameters()[2], {{"a", number(1)}, {"b", number(3)}}));
  // Three of the twelve pairs reach nothing.
  EXPECT_EQ(space.size(), 9 * 5 + 3);
  EXPECT_EQ(walked(space), 9 * 5 + 3);
}

TEST(SearchSpace, RejectsOverlappingDeclarations) {
  SearchSpace space;
  put(space, {"a", upto(3), {}});
  put(space, {"k", upto(5), {{"a", {number(1), number(2)}}}});
  put(space, {"k", upto(6), {{"a", {number(3)}}}});

  const auto added = space.add({"k", upto(7), {{"a", {number(2)}}}});

  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().message, "'k' is declared twice and both declarations may be active at once");
  EXPECT_EQ(space.parameters().size(), 3U);
}

TEST(SearchSpace, CountsAChainOfRepeatsAtOnce) {
  SearchSpace space;
  for (int i = 0; i < 20; ++i) {
    const std::string stage = "stage" + std::to_string(i);
    put(space, {stage, upto(4), {}});
    for (int round = 1; round <= 4; ++round) {
      std::vector<Value> deep;
      for (int depth = round; depth <= 4; ++depth) deep.push_back(number(depth));
      put(space, {stage + "/" + std::to_string(round), upto(3), {{stage, deep}}});
    }
  }

  EXPECT_EQ(space.size(), std::pow(3 + 9 + 27 + 81, 20));
}

TEST(SearchSpace, CountsAChoiceSharedByThirtyPlaces) {
  SearchSpace space;
  std::vector<Parameter::Condition> ways;
  for (int i = 0; i < 30; ++i) {
    put(space, {"p" + std::to_string(i), upto(2), {}});
    ways.push_back({"p" + std::to_string(i), {number(2)}});
  }
  put(space, {"k", upto(7), ways});

  EXPECT_EQ(space.size(), (std::pow(2, 30) - 1) * 7 + 1);
}

TEST(SearchSpace, CountsWhatAGridWalks) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng = Rng(7).split(seed);
    SearchSpace space;
    for (int i = 0; i < 6; ++i) {
      Parameter parameter{"p" + std::to_string(i), upto(rng.between(1, 3)), {}};
      const std::int64_t num_ways = i == 0 ? 0 : rng.between(0, 2);
      for (std::int64_t way = 0; way < num_ways; ++way) {
        const auto& parent = space.parameters()[rng.below(static_cast<std::uint64_t>(i))];
        std::vector<Value> values{number(1)};
        if (rng.bernoulli(0.5)) values.push_back(number(3));
        parameter.when.push_back({parent.name, values});
      }
      put(space, parameter);
    }
    EXPECT_EQ(space.size(), walked(space)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lanista::space
