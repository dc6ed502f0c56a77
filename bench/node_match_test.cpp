#include "bench/node_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "support/model/graph/test_support.h"

namespace lanista::bench {
namespace {

using namespace graph;  // NOLINT: models are written in the words of that module
using graph::testing::random_model;
using graph::testing::renamed;
using graph::testing::small_ops;

Graph model(const std::string& text) {
  auto graph = parse(text);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return *std::move(graph);
}

std::string shown(const std::vector<NodeId>& ids) {
  std::string text;
  for (const NodeId id : ids) text += (text.empty() ? "" : " ") + port_text({id, 0});
  return text;
}

std::string shown(const std::vector<NodePair>& pairs) {
  std::string text;
  for (const auto& [a, b] : pairs) {
    text += (text.empty() ? "" : " ") + port_text({a, 0}) + "=" + port_text({b, 0});
  }
  return text;
}

/// A few edits that always apply: all values of a random model have one shape.
Graph mutated(const Graph& base, const OpTable& ops, Rng& rng) {
  Editor edit(base, ops);
  const std::uint64_t count = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto nodes = edit.graph().nodes();
    const Node node = *nodes[rng.below(nodes.size())];
    if (node.op == "input" || node.op == "output") continue;
    const bool is_plain = node.op == "relu" || node.op == "gelu";
    switch (rng.below(3)) {
      case 0:
        if (node.op != "split") edit.insert_after({node.id, 0}, rng.below(2) == 0 ? "relu" : "scale");
        break;
      case 1:
        if (is_plain) edit.replace(node.id, node.op == "relu" ? "gelu" : "relu", {});
        if (node.op == "scale") edit.set(node.id, "by", 1.5);
        break;
      default:
        if (is_plain) edit.bypass(node.id);
    }
  }
  auto edited = std::move(edit).commit();
  EXPECT_TRUE(edited.ok()) << edited.error().text();
  return std::move(edited->graph);
}

/// The definition: removes nodes that break the rule until none does.
std::vector<NodeId> by_definition(const Graph& a, const Graph& b) {
  std::set<NodeId> shared;
  for (const NodeId id : a.ids()) {
    if (b.contains(id) && a.node(id).op == b.node(id).op && a.node(id).attrs == b.node(id).attrs) shared.insert(id);
  }
  const auto breaks = [&](NodeId id) {
    if (a.node(id).inputs != b.node(id).inputs) return true;
    return std::any_of(a.node(id).inputs.begin(), a.node(id).inputs.end(),
                       [&](Port port) { return !shared.contains(port.node); });
  };
  while (std::erase_if(shared, breaks) > 0) {
  }
  return {shared.begin(), shared.end()};
}

TEST(LineageMatch, ReturnsUneditedPrefix) {
  const OpTable ops = small_ops();
  const Graph base = model(
      "%0 = input(shape=[4])\n"
      "%1 = linear(%0, out=4)\n"
      "%2 = relu(%1)\n"
      "%3 = linear(%1, out=4)\n"
      "%4 = add(%2, %3)\n"
      "%5 = output(%4)\n");
  Editor edit(base, ops);
  edit.insert_after({NodeId{2}, 0}, "gelu");
  const auto child = std::move(edit).commit();
  ASSERT_TRUE(child.ok()) << child.error().text();

  EXPECT_EQ(shown(lineage_match(base, base, ops)), "%0 %1 %2 %3 %4 %5");
  EXPECT_EQ(shown(lineage_match(base, child->graph, ops)), "%0 %1 %2 %3");
  EXPECT_EQ(shown(structural_match(base, child->graph, ops)), "%0=%0 %1=%1 %2=%2 %3=%3");
}

TEST(LineageMatch, IgnoresLabelsAndExplicitDefaults) {
  const OpTable ops = small_ops();
  const Graph a = model("%0 = input(shape=[4])\n%1 = scale(%0, by=1.0) \"here\"\n%2 = output(%1)\n");
  const Graph b = model("%0 = input(shape=[4])\n%1 = scale(%0)\n%2 = output(%1)\n");
  const Graph c = model("%0 = input(shape=[4])\n%1 = scale(%0, by=2.0)\n%2 = output(%1)\n");

  EXPECT_EQ(shown(lineage_match(a, b, ops)), "%0 %1 %2");
  EXPECT_EQ(shown(lineage_match(a, c, ops)), "%0");
}

TEST(LineageMatch, AgreesWithTheDefinitionAndWithStructure) {
  const OpTable ops = small_ops();
  Rng rng(11);
  std::size_t partial = 0;
  for (int round = 0; round < 1000; ++round) {
    const Graph base = random_model(rng);
    const Graph a = mutated(base, ops, rng);
    const Graph b = mutated(round % 2 == 0 ? base : a, ops, rng);

    const auto shared = lineage_match(a, b, ops);

    ASSERT_EQ(shared, by_definition(a, b)) << to_text(a) << "\n" << to_text(b);
    ASSERT_EQ(shared, lineage_match(b, a, ops));
    // Nodes that lineage_match pairs have the same structure too.
    std::map<NodeId, Digest> hashes;
    for (const auto& [id, hash] : structural_hashes(b, ops)) hashes[id] = hash;
    for (const auto& [id, hash] : structural_hashes(a, ops)) {
      const bool is_shared = std::binary_search(shared.begin(), shared.end(), id);
      ASSERT_TRUE(!is_shared || hash == hashes[id]) << port_text({id, 0});
    }
    if (!shared.empty() && shared.size() < a.size()) ++partial;
  }
  EXPECT_GT(partial, 500u) << "most pairs should share a part";
}

TEST(StructuralMatch, PairsEqualNodesWithPairedInputs) {
  const OpTable ops = small_ops();
  Rng rng(12);
  std::size_t paired = 0;
  for (int round = 0; round < 1000; ++round) {
    const Graph base = random_model(rng);
    const Graph a = mutated(base, ops, rng);
    const Graph b = renamed(mutated(base, ops, rng), ops, rng);

    const auto pairs = structural_match(a, b, ops);

    std::map<NodeId, NodeId> partner;
    std::set<NodeId> taken;
    for (const auto& [left, right] : pairs) {
      ASSERT_TRUE(partner.emplace(left, right).second);
      ASSERT_TRUE(taken.insert(right).second);
      const Node& x = a.node(left);
      const Node& y = b.node(right);
      ASSERT_EQ(x.op, y.op);
      std::vector<Port> fed;
      for (const Port& port : x.inputs) fed.push_back({partner.at(port.node), port.slot});
      std::vector<Port> wanted = y.inputs;
      if (ops.find(x.op)->commutative) {
        std::sort(fed.begin(), fed.end());
        std::sort(wanted.begin(), wanted.end());
      }
      ASSERT_EQ(fed, wanted) << to_text(a) << "\n" << to_text(b);
    }
    // Greedy by definition: no two remaining nodes could be paired.
    for (const auto& x : a.nodes()) {
      if (partner.contains(x->id)) continue;
      for (const auto& y : b.nodes()) {
        if (taken.contains(y->id) || x->op != y->op || x->inputs.empty() || x->attrs != y->attrs) continue;
        const bool fits = x->inputs.size() == y->inputs.size() &&
                          std::equal(x->inputs.begin(), x->inputs.end(), y->inputs.begin(), [&](Port p, Port q) {
                            return partner.contains(p.node) && Port{partner.at(p.node), p.slot} == q;
                          });
        ASSERT_FALSE(fits) << port_text({x->id, 0}) << " could be " << port_text({y->id, 0});
      }
    }
    paired += pairs.size();
  }
  EXPECT_GT(paired, 3000u);
}

TEST(StructuralMatch, MatchesModelWithOtherIds) {
  const OpTable ops = small_ops();
  const Graph a =
      model("%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = relu(%1)\n%3 = add(%1, %2)\n%4 = output(%3)\n");
  const Graph b =
      model("%3 = input(shape=[4])\n%7 = linear(%3, out=4)\n%9 = relu(%7)\n%11 = add(%9, %7)\n%20 = output(%11)\n");

  EXPECT_EQ(shown(lineage_match(a, b, ops)), "");
  EXPECT_EQ(shown(structural_match(a, b, ops)), "%0=%3 %1=%7 %2=%9 %3=%11 %4=%20");
}

TEST(StructuralMatch, DistinguishesSharedLayerFromTwoEqual) {
  const OpTable ops = small_ops();
  const Graph twice = model("%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = add(%1, %1)\n%3 = output(%2)\n");
  const Graph two = model(
      "%0 = input(shape=[4])\n%1 = linear(%0, out=4)\n%2 = linear(%0, out=4)\n%3 = add(%1, %2)\n%4 = output(%3)\n");

  EXPECT_EQ(shown(structural_match(twice, two, ops)), "%0=%0 %1=%1");
  EXPECT_EQ(shown(structural_match(two, two, ops)), "%0=%0 %1=%1 %2=%2 %3=%3 %4=%4");
}

}  // namespace
}  // namespace lanista::bench
