#include "lanista/model/transfer/function_overlap.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lanista/model/graph/text.h"
#include "support/model/transfer/test_function_overlap.h"
#include "support/model/transfer/test_layers.h"

namespace lanista::zoo {
namespace {

MatchModel matched(const graph::Graph& graph) { return *MatchModel::of(graph, graph::builtin_ops()); }

struct OverlapAndBound {
  double is = 0, most = 0;
};

/// Overlap and bound for these pairs, with other parents in the table.
OverlapAndBound kept(const MatchModel& parent, const MatchModel& child, const std::vector<graph::NodePair>& pairs) {
  Signatures parents;
  for (std::uint64_t k = 0; k < 3; ++k) pack_model(matched(testing::random_layers(Rng(30).split(k), 9)), parents);
  const PackedModel packed = pack_model(parent, parents);
  const ChildModel side(child, {});
  const PairTable table(parents, side.signatures);
  NodePairs places;
  for (const graph::NodePair& pair : pairs) {
    places.emplace_back(testing::place_of(parent, pair.a), testing::place_of(child, pair.b));
  }
  return {function_overlap(places, packed, side, table), FunctionOverlapBound(side, parents, table).of(packed)};
}

/// Random pairs of nodes of one kind, each node at most once; half of them in random order.
std::vector<graph::NodePair> random_pairs(const MatchModel& parent, const MatchModel& child, Rng rng) {
  std::vector<graph::NodePair> out;
  std::set<graph::NodeId> used;
  for (const auto& node : child.nodes) {
    std::vector<graph::NodeId> fit;
    for (const auto& other : parent.nodes) {
      if (other.kind == node.kind && !used.contains(other.id)) fit.push_back(other.id);
    }
    if (fit.empty() || rng.bernoulli(0.1)) continue;
    out.push_back({rng.bernoulli(0.5) ? fit.front() : fit[rng.below(fit.size())], node.id});
    used.insert(out.back().a);
  }
  return out;
}

TEST(FunctionOverlap, MatchesPathSumAndStaysBelowBound) {
  std::int64_t some = 0, part = 0, bounded = 0;
  const auto check = [&](const MatchModel& parent, const MatchModel& child, const std::vector<graph::NodePair>& pairs) {
    const OverlapAndBound one = kept(parent, child, pairs);

    EXPECT_NEAR(one.is, testing::function_overlap_by_paths(parent, child, pairs), 1e-12);
    EXPECT_LE(one.is, one.most);
    EXPECT_LE(one.most, 1.0);
    some += one.is > 0;
    part += one.is > 0 && one.is < 0.999;
    bounded += one.most < 0.9;
  };
  for (std::uint64_t seed = 0; seed < testing::cases(1000); ++seed) {
    SCOPED_TRACE(seed);
    const MatchModel parent = matched(testing::random_layers(Rng(31).split(seed), 10));
    const MatchModel child = matched(testing::random_layers(Rng(32).split(seed), 10));
    check(parent, child, match(parent, child).pairs);
    check(parent, child, random_pairs(parent, child, Rng(33).split(seed)));
    // Most nodes are paired with themselves, so that the overlap is not zero.
    Rng rng = Rng(35).split(seed);
    std::vector<graph::NodePair> same;
    for (const auto& node : child.nodes) {
      if (rng.bernoulli(0.9)) same.push_back({node.id, node.id});
    }
    check(child, child, same);
  }
  const auto all = static_cast<std::int64_t>(3 * testing::cases(1000));
  EXPECT_GT(5 * some, all);
  EXPECT_GT(10 * part, all);
  EXPECT_GT(4 * bounded, all);
}

TEST(FunctionOverlap, IsOneForEqualModels) {
  for (std::uint64_t seed = 0; seed < testing::cases(200); ++seed) {
    const MatchModel model = matched(testing::random_layers(Rng(34).split(seed), 12));
    const OverlapAndBound one = kept(model, model, match(model, model).pairs);

    EXPECT_NEAR(one.is, 1.0, 1e-12) << seed;
    EXPECT_EQ(one.most, 1.0) << seed;
  }
}

TEST(FunctionOverlap, DecreasesWithRewiring) {
  const std::string before =
      "%0 = input(shape=[8])\n%1 = linear(%0, out=8)\n%2 = linear(%1, out=8)\n%3 = linear(%1, out=8)\n";
  const auto with = [&](const std::string& inputs) {
    return matched(*graph::parse(before + "%4 = add(" + inputs + ")\n%5 = output(%4)\n"));
  };
  const MatchModel whole = with("%1, %2, %3");
  const auto overlap = [&](const MatchModel& parent, const MatchModel& child) {
    std::vector<graph::NodePair> pairs;
    for (const auto& node : child.nodes) pairs.push_back({node.id, node.id});
    return kept(parent, child, pairs).is;
  };

  EXPECT_DOUBLE_EQ(overlap(whole, whole), 1.0);
  EXPECT_DOUBLE_EQ(overlap(whole, with("%0, %2, %3")), 2.0 / 3) << "another input";
  EXPECT_DOUBLE_EQ(overlap(with("%1, %2, %3, %0"), whole), 3.0 / 4) << "the parent has one more";
}

}  // namespace
}  // namespace lanista::zoo
