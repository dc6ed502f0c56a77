#include "lanista/model/transfer/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/transfer/axis_rules.h"
#include "lanista/model/transfer/packed_model.h"
#include "lanista/model/transfer/transfer.h"
#include "support/model/transfer/test_layers.h"

namespace lanista::zoo {
namespace {

constexpr MatchOptions kUnit{.unit_weights = true};

using testing::random_layers;

MatchModel model_of(const graph::Graph& graph) {
  auto model = MatchModel::of(graph, graph::builtin_ops());
  EXPECT_TRUE(model.ok()) << model.error().text() << graph::to_text(graph);
  return *std::move(model);
}

/// An upper bound of match(...).sim, without an alignment.
double similarity_upper_bound(const MatchModel& parent, const MatchModel& child) {
  Signatures parents, children;
  const PackedModel a = pack_model(parent, parents), b = pack_model(child, children);
  return similarity_bound(a, b, PairTable(parents, children));
}

/// The number of parameter elements that two nodes have in common.
std::int64_t node_overlap(const MatchModel::Node& parent, const MatchModel::Node& child) {
  return shape_overlap({parent.kind, parent.shapes, parent.params}, {child.kind, child.shapes, child.params});
}

TEST(Match, IsOneForEqualModels) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const MatchModel model = model_of(random_layers(Rng(11).split(seed), 12));
    const Match same = match(model, model, kUnit);

    EXPECT_NEAR(same.score, static_cast<double>(model.nodes.size()), 1e-9) << seed;
    EXPECT_EQ(same.sim, 1.0);
    EXPECT_EQ(same.start_benefit, 1.0);
    const auto weights = node_weights(model, {});
    EXPECT_NEAR(match(model, model).score, std::accumulate(weights.begin(), weights.end(), 0.0), 1e-9);
  }
}

TEST(Match, CountsResidualNodesOnce) {
  for (const int blocks : {1, 4, 33}) {
    std::string text = "%0 = input(shape=[8])\n";
    std::int64_t last = 0;
    for (int b = 0; b < blocks; ++b) {
      const auto name = [&](std::int64_t k) { return "%" + std::to_string(last + k); };
      text += name(1) + " = linear(" + name(0) + ", out=8)\n" + name(2) + " = relu(" + name(1) + ")\n" + name(3) +
              " = linear(" + name(2) + ", out=8)\n" + name(4) + " = add(" + name(0) + ", " + name(3) + ")\n";
      last += 4;
    }
    text += "%" + std::to_string(last + 1) + " = output(%" + std::to_string(last) + ")\n";
    const MatchModel model = model_of(*graph::parse(text));

    EXPECT_NEAR(match(model, model, kUnit).score, 4 * blocks + 2, 1e-9);
    EXPECT_EQ(match(model, model, kUnit).pairs.size(), model.nodes.size());
  }
}

TEST(Match, NeverExceedsSizeOfChild) {
  for (std::uint64_t seed = 0; seed < testing::cases(1000); ++seed) {
    const MatchModel parent = model_of(random_layers(Rng(12).split(seed), 10));
    const MatchModel child = model_of(random_layers(Rng(13).split(seed), 10));
    const Match one = match(parent, child, kUnit);

    EXPECT_LE(one.score, static_cast<double>(child.nodes.size()) + 1e-9);
    EXPECT_LE(one.coverage, 1.0);
    EXPECT_LE(one.retention, 1.0);
    EXPECT_LE(one.sim, similarity_upper_bound(parent, child) + 1e-12) << seed;
    EXPECT_LE(match(parent, child).sim, similarity_upper_bound(parent, child) + 1e-12) << seed;
    const double of_both = one.coverage * one.retention;
    EXPECT_NEAR(one.start_benefit, of_both == 0 ? 0 : 10 * of_both / (9 * one.retention + one.coverage), 1e-12) << seed;
  }
}

TEST(Match, PairsEachNodeOnceWithEqualKind) {
  for (std::uint64_t seed = 0; seed < testing::cases(500); ++seed) {
    const graph::Graph a = random_layers(Rng(14).split(seed), 10), b = random_layers(Rng(15).split(seed), 10);
    const Match one = match(model_of(a), model_of(b));

    std::set<graph::NodeId> parents, children;
    for (const graph::NodePair& pair : one.pairs) {
      EXPECT_TRUE(parents.insert(pair.a).second);
      EXPECT_TRUE(children.insert(pair.b).second);
      EXPECT_EQ(a.node(pair.a).op, b.node(pair.b).op);
    }
  }
}

TEST(Match, PenalizesMissingLayerOnce) {
  const std::string before = "%0 = input(shape=[8])\n%1 = linear(%0, out=8)\n%2 = relu(%1)\n%3 = linear(%2, out=3)\n";
  const MatchModel parent = model_of(*graph::parse(before + "%4 = output(%3)\n"));
  const MatchModel child = model_of(*graph::parse(before + "%5 = tanh(%3)\n%4 = output(%5)\n"));

  EXPECT_DOUBLE_EQ(match(parent, child, kUnit).score, match(parent, parent, kUnit).score - 0.25);
}

TEST(Match, FindsWidthsThatDiffer) {
  const auto text = [](int width) {
    return "%0 = input(shape=[8])\n%1 = linear(%0, out=" + std::to_string(width) +
           ")\n%2 = relu(%1)\n%3 = linear(%2, out=3)\n%4 = output(%3)\n";
  };
  const MatchModel child = model_of(*graph::parse(text(64)));
  for (const int width : {63, 65, 48}) {
    const Match one = match(model_of(*graph::parse(text(width))), child);

    EXPECT_EQ(one.pairs.size(), 5U) << width;
    EXPECT_GT(one.sim, 0.8) << width;
  }
}

// The ids decide the dependency order in which a model is read.
TEST(Match, IgnoresIdsAndNodeOrder) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const graph::Graph one = random_layers(Rng(16).split(seed), 8), child = random_layers(Rng(17).split(seed), 8);
    graph::GraphBuilder builder;
    std::vector<std::uint32_t> ids(one.next_id().value);
    std::iota(ids.begin(), ids.end(), 40U);
    Rng rng = Rng(20).split(seed);
    for (std::size_t k = ids.size(); k > 1; --k) std::swap(ids[k - 1], ids[rng.below(k)]);
    for (const auto& node : one.nodes()) {
      graph::Node moved = *node;
      moved.id.value = ids[moved.id.value];
      for (graph::Port& input : moved.inputs) input.node.value = ids[input.node.value];
      builder.put(std::move(moved));
    }

    EXPECT_NEAR(match(model_of(one), model_of(child), kUnit).score,
                match(model_of(std::move(builder).take()), model_of(child), kUnit).score, 1e-12);
  }
}

/// The largest overlap over all pairings that keep the order of paths, by brute force.
std::int64_t best_overlap(const MatchModel& parent, const MatchModel& child) {
  const auto reaches = [](const MatchModel& model) {
    std::vector<std::vector<bool>> out(model.nodes.size(), std::vector<bool>(model.nodes.size()));
    for (std::size_t v = 0; v < model.nodes.size(); ++v) {
      for (const std::size_t u : model.nodes[v].inputs) {
        out[u][v] = true;
        for (std::size_t w = 0; w < v; ++w) out[w][v] = out[w][v] || out[w][u];
      }
    }
    return out;
  };
  const auto before = reaches(parent), now = reaches(child);
  std::vector<std::size_t> to(child.nodes.size(), parent.nodes.size());
  std::int64_t best = 0;
  const std::function<void(std::size_t, std::int64_t)> go = [&](std::size_t j, std::int64_t sum) {
    best = std::max(best, sum);
    if (j == child.nodes.size()) return;
    go(j + 1, sum);
    for (std::size_t i = 0; i < parent.nodes.size(); ++i) {
      const std::int64_t both = node_overlap(parent.nodes[i], child.nodes[j]);
      if (both == 0) continue;
      bool fits = true;
      for (std::size_t c = 0; fits && c < j; ++c) {
        if (to[c] == parent.nodes.size()) continue;
        fits = to[c] != i && !(now[c][j] && before[i][to[c]]);
      }
      if (!fits) continue;
      to[j] = i;
      go(j + 1, sum + both);
      to[j] = parent.nodes.size();
    }
  };
  go(0, 0);
  return best;
}

TEST(Match, IsNearOptimalPairing) {
  std::vector<double> gaps;
  for (std::uint64_t seed = 0; seed < testing::cases(400); ++seed) {
    const MatchModel parent = model_of(random_layers(Rng(18).split(seed), 5));
    const MatchModel child = model_of(random_layers(Rng(19).split(seed), 5));
    const std::int64_t best = best_overlap(parent, child);
    if (best == 0) continue;
    EXPECT_LE(match(parent, child).overlap, best) << seed;
    gaps.push_back(1 - static_cast<double>(match(parent, child).overlap) / static_cast<double>(best));
  }
  std::ranges::sort(gaps);
  const double mean = std::accumulate(gaps.begin(), gaps.end(), 0.0) / static_cast<double>(gaps.size());
  std::printf("gap to the best pairing: mean %.4f, 95th percentile %.4f of %zu\n", mean, gaps[gaps.size() * 95 / 100],
              gaps.size());
  EXPECT_LE(mean, 0.02);
  EXPECT_LE(gaps[gaps.size() * 95 / 100], 0.02);
}

TEST(AxisRule, CoversEveryModelOperator) {
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    if (ops.find(name)->level == graph::OpLevel::kModel) {
      EXPECT_NE(find_axis_rule(*ops.find(name)), nullptr) << name;
    }
  }
}

TEST(TransferPlanText, RejectsInvalidPlans) {
  EXPECT_EQ(transfer_from_json({{"lanista_transfer", 2}}).error().code, Code::kUnimplemented);
  EXPECT_EQ(transfer_from_json({{"exact", true}}).error().code, Code::kDataLoss);
  const nlohmann::json kind{{"lanista_transfer", 1},
                            {"exact", true},
                            {"tensors", {{{"name", "n1.weight"}, {"kind", "guess"}, {"shape", {1}}}}}};
  EXPECT_EQ(transfer_from_json(kind).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace lanista::zoo
